/** Word problems about sharing, packing, parts of groups and comparisons. */
import { multiple, names, person, pick, story, type Templates } from "./template.ts";

const ORDINAL: Record<number, string> = {
  2: "half",
  3: "third",
  4: "quarter",
  5: "fifth",
  6: "sixth",
};

export const groups: Templates = {
  packing(random) {
    const [item, box] = random.choice(
      [["eggs", "carton"], ["tulip bulbs", "tray"], ["glasses", "crate"], [
        "candles",
        "box",
      ]] as const,
    );
    const per = random.int(6, 60), boxes = random.int(4, 40), broken = random.int(1, 30);
    const rest = random.int(1, per - 1), total = per * boxes + rest + broken;
    const plural = box === "box" ? "boxes" : `${box}s`;
    return story({ item, total, broken, per_box: per, full_boxes: boxes })`
      A market stall receives ${total} ${item}, but ${broken} of them are damaged and thrown away.
      The others are packed into ${plural} of ${per}. How many ${item} are left over after as many
      ${plural} as possible have been filled?
      Good ones: ${total} − ${broken} = ${total - broken}.
      ${boxes} × ${per} = ${per * boxes}, so ${boxes} ${plural} are filled.
      Left over: ${total - broken} − ${per * boxes} = ${rest}.`;
  },

  buses(random) {
    const event = pick(random, "a museum, a castle, the zoo, a planetarium, the coast");
    const classes = random.int(3, 9), size = random.int(18, 32);
    const teachers = random.int(1, 3) * classes;
    const seats = random.choice([24, 36, 40, 48, 52]);
    const all = classes * size + teachers, needed = Math.ceil(all / seats);
    return story({ event, classes, size, teachers, seats })`
      ${classes} classes of ${size} pupils each go to ${event}, with ${teachers} teachers in all. A
      bus has ${seats} seats. How many buses are needed?
      Pupils: ${classes} × ${size} = ${classes * size}.
      People: ${classes * size} + ${teachers} = ${all}.
      ${all} ÷ ${seats} is ${(all / seats).toFixed(2)}, so ${needed} buses are needed.`;
  },

  percentages(random) {
    const place = pick(random, "sports club, music society, youth centre, drama group");
    const total = multiple(random, 100, 900, 20);
    const first = random.choice([20, 25, 30, 35, 40, 45]);
    const second = random.choice([10, 15, 20, 25, 30]);
    const walk = total * first / 100, cycle = total * second / 100;
    const rest = total - walk - cycle;
    return story({ place, total, walk_percent: first, cycle_percent: second })`
      A ${place} has ${total} members. In the morning ${first}% of them walk there, ${second}% come
      by bicycle, and all the others take the tram. How many take the tram?
      Walking: ${first}% of ${total} = ${walk}.
      By bicycle: ${second}% of ${total} = ${cycle}.
      By tram: ${total} − ${walk} − ${cycle} = ${rest}.`;
  },

  fractions(random) {
    const { name, they } = person(random);
    const item = pick(random, "stamps, shells, trading cards, walnuts, stickers");
    const a = random.int(2, 6), b = random.int(2, 5), left = random.int(3, 25) * (b - 1);
    const afterFirst = left * b / (b - 1), total = afterFirst * a / (a - 1);
    if (!Number.isInteger(total)) return null;
    return story({ name, item, total, first_part: a, second_part: b })`
      ${name} has ${total} ${item}. First ${they} gives one ${ORDINAL[a]} of them to a friend, then
      one ${ORDINAL[b]} of the remaining ones to a cousin. How many ${item} does ${they} keep?
      To the friend: ${total} ÷ ${a} = ${total / a}, so ${afterFirst} remain.
      To the cousin: ${afterFirst} ÷ ${b} = ${afterFirst / b}.
      ${afterFirst} − ${afterFirst / b} = ${left} are kept.`;
  },

  comparison(random) {
    const [a, b, c] = names(random, 3);
    const item = pick(random, "apples, mushrooms, chestnuts, plums, cones");
    const base = random.int(12, 60), times = random.int(2, 5), fewer = random.int(2, base - 1);
    const second = base * times, third = second - fewer;
    return story({ name1: a, name2: b, name3: c, item, base, times, fewer })`
      ${a} picks ${base} ${item}. ${b} picks ${times} times as many as ${a}, and
      ${c} picks ${fewer} fewer than ${b}. How many ${item} do the three pick together?
      ${b}: ${times} × ${base} = ${second}.
      ${c}: ${second} − ${fewer} = ${third}.
      Together: ${base} + ${second} + ${third} = ${base + second + third}.`;
  },

  ratio(random) {
    const [mixture, x, y] = random.choice(
      [["concrete", "sand", "gravel"], ["a green paint", "blue", "yellow"], [
        "a tea",
        "mint",
        "nettle",
      ]] as const,
    );
    const a = random.int(2, 9);
    let b = random.int(2, 9);
    if (b === a) b++;
    const part = random.int(3, 40), total = (a + b) * part;
    return story({ mixture, ratio_a: a, ratio_b: b, total })`
      For ${mixture}, ${x} and ${y} are mixed in the ratio ${a} to ${b} by weight. How many
      kilograms of ${y} are in ${total} kg of the mixture?
      There are ${a} + ${b} = ${a + b} parts.
      One part weighs ${total} ÷ ${a + b} = ${part} kg.
      The ${y} weighs ${b} × ${part} = ${b * part} kg.`;
  },

  rowsOfSeats(random) {
    const hall = pick(random, "cinema, theatre, concert hall, lecture hall");
    const rows = random.int(8, 30), seats = random.int(12, 40);
    const reserved = random.int(1, rows - 5), empty = random.int(3, seats);
    const taken = (rows - reserved) * seats - empty;
    return story({ hall, rows, seats, closed_rows: reserved, empty })`
      A ${hall} has ${rows} rows of ${seats} seats. ${reserved}
      row${reserved === 1 ? " is" : "s are"} closed for repairs, and in the other rows ${empty}
      seats in all stay empty. How many people have a seat?
      Open rows: ${rows} − ${reserved} = ${rows - reserved}.
      Seats in them: ${rows - reserved} × ${seats} = ${(rows - reserved) * seats}.
      People: ${(rows - reserved) * seats} − ${empty} = ${taken}.`;
  },

  survey(random) {
    const [x, y] = random.choice(
      [["tea", "coffee"], ["chess", "cards"], ["French", "Spanish"], ["cats", "dogs"]] as const,
    );
    const both = random.int(4, 80), onlyX = random.int(5, 60), onlyY = random.int(5, 60);
    const none = random.int(2, 25), total = both + onlyX + onlyY + none;
    return story({ x, y, total, like_x: onlyX + both, like_y: onlyY + both, neither: none })`
      Of ${total} people in a survey, ${onlyX + both} like ${x}, ${onlyY + both} like ${y}, and
      ${none} like neither. How many like both ${x} and ${y}?
      At least one of the two is liked by ${total} − ${none} = ${total - none} people.
      Counted one by one it is ${onlyX + both} + ${onlyY + both} = ${onlyX + onlyY + 2 * both}.
      Those who like both were counted twice: ${onlyX + onlyY + 2 * both} − ${total - none} =
        ${both}.`;
  },

  teams(random) {
    const sport = pick(random, "tug-of-war, relay, quiz, rowing");
    const size = random.int(5, 30), count = random.int(4, 16), late = random.int(1, size - 1);
    const signed = size * count - late;
    return story({ sport, signed, size })`
      For a ${sport} tournament ${signed} people have signed up so far. Every team has exactly
      ${size} members and nobody may be left out. How many more people are needed at least?
      ${signed} people fill ${count - 1} teams; remaining: ${signed - size * (count - 1)}.
      To fill another team: ${size} − ${signed - size * (count - 1)} = ${late} more people.`;
  },
};

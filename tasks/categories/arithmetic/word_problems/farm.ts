/** Word problems about animals, fields and harvests. */
import { capitalize } from "../../../text/spelling.ts";
import { multiple, person, pick, story, type Templates } from "./template.ts";

export const farm: Templates = {
  eggs(random) {
    const { name } = person(random);
    const hens = random.int(8, 40), weekly = random.int(4, 6), box = random.choice([6, 10, 12]);
    const kept = (hens * weekly) % box + box, price = random.int(2, 6);
    const laid = hens * weekly, boxes = (laid - kept) / box;
    return story({ name, hens, eggs_per_hen: weekly, kept, box, price })`
      Each of ${name}'s ${hens} hens lays ${weekly} eggs a week. Every week ${kept} eggs are kept
      for the kitchen; the others are sold in boxes of ${box} for $${price} a box. How many dollars
      do the eggs bring in a week?
      Laid: ${hens} × ${weekly} = ${laid} eggs.
      For sale: ${laid} − ${kept} = ${laid - kept} eggs.
      Boxes: ${laid - kept} ÷ ${box} = ${boxes}.
      Income: ${boxes} × $${price} = $${boxes * price}.`;
  },

  milk(random) {
    const animal = pick(random, "cows, buffaloes, yaks");
    const herd = random.int(6, 30), litres = random.int(8, 24), days = random.int(2, 7);
    const can = random.choice([20, 25, 40]), calves = random.int(5, Math.floor(herd * litres / 2));
    const left = (herd * litres - calves) * days, cans = Math.ceil(left / can);
    return story({ animal, herd, litres, calves, can, days })`
      ${herd} ${animal} give ${litres} litres of milk each a day. The calves drink ${calves} litres
      of it a day, and the rest goes into cans of ${can} litres. What is the smallest number of cans
      that holds the milk of ${days} days?
      Milk a day: ${herd} × ${litres} = ${herd * litres} litres.
      After the calves: ${herd * litres} − ${calves} = ${herd * litres - calves} litres.
      In ${days} days: ${herd * litres - calves} × ${days} = ${left} litres.
      ${left} ÷ ${can} is ${(left / can).toFixed(2)}, so ${cans} cans are needed.`;
  },

  orchard(random) {
    const fruit = pick(random, "apple, pear, plum, cherry");
    const rows = random.int(5, 30), perRow = 2 * random.int(4, 20);
    const kilos = multiple(random, 20, 90, 10);
    const percent = random.choice([10, 15, 20, 25, 30, 35, 40, 45]);
    const total = rows * perRow * kilos, juice = total * percent / 100;
    return story({ fruit, rows, per_row: perRow, kilos, percent })`
      An orchard has ${rows} rows of ${perRow} ${fruit} trees, and each tree bears ${kilos} kg of
      fruit. ${percent}% of the harvest is pressed to juice and the rest is sold. How many kilograms
      are sold?
      Trees: ${rows} × ${perRow} = ${rows * perRow}.
      Harvest: ${rows * perRow} × ${kilos} = ${total} kg.
      Pressed: ${percent}% of ${total} = ${juice} kg.
      Sold: ${total} − ${juice} = ${total - juice} kg.`;
  },

  flock(random) {
    const { name, they } = person(random);
    const start = 2 * random.int(20, 90), born = random.int(6, 50), lost = random.int(2, 9);
    const half = start / 2, end = half + born - lost;
    return story({ name, born, ran_away: lost, sheep_now: end })`
      In spring ${name} sells half of a flock of sheep. Then ${born} lambs are born, and ${lost}
      sheep run away. Now ${they} has ${end} sheep. How many were in the flock before the sale?
      Before ${lost} ran away: ${end} + ${lost} = ${end + lost}.
      Before the lambs: ${end + lost} − ${born} = ${half}.
      Before the sale: ${half} × 2 = ${start}.`;
  },

  hay(random) {
    const stable = pick(random, "riding school, stud farm, pony club");
    const horses = random.int(4, 18), each = random.int(6, 12), sold = random.int(1, 3);
    const stock = random.int(horses * each * 10, horses * each * 60);
    const last = Math.floor(stock / ((horses - sold) * each));
    return story({ stable, horses, each, sold, stock })`
      A ${stable} has ${horses} horses that eat ${each} kg of hay each a day, and a store of
      ${stock} kg of hay. Before the winter ${sold} of the horses ${sold === 1 ? "is" : "are"} sold.
      For how many whole days does the hay last?
      Horses that stay: ${horses} − ${sold} = ${horses - sold}.
      They eat ${horses - sold} × ${each} = ${(horses - sold) * each} kg a day.
      ${stock} ÷ ${(horses - sold) * each} is ${(stock / ((horses - sold) * each)).toFixed(2)}, so
        the hay lasts for ${last} whole days.`;
  },

  sowing(random) {
    const { name } = person(random);
    const plant = pick(random, "lettuce, carrot, sunflower, bean");
    const beds = random.int(2, 9), seeds = multiple(random, 20, 120, 20);
    const percent = random.choice([60, 65, 70, 75, 80, 85, 90, 95]), snails = random.int(2, 12);
    const up = beds * seeds * percent / 100;
    return story({ name, plant, beds, seeds, percent, snails })`
      ${name} sows ${seeds} ${plant} seeds in each of ${beds} beds. ${percent}% of all the seeds
      come up, but snails eat ${snails} of the young plants. How many plants are left?
      Sown: ${beds} × ${seeds} = ${beds * seeds} seeds.
      Come up: ${percent}% of ${beds * seeds} = ${up}.
      Left: ${up} − ${snails} = ${up - snails}.`;
  },

  honey(random) {
    const { name } = person(random);
    const hives = random.int(3, 20), kilos = random.int(8, 30);
    const jar = random.choice([250, 400, 500]);
    const grams = hives * kilos * 1000, gifts = random.int(3, 15);
    const jars = grams / jar;
    if (!Number.isInteger(jars)) return null;
    return story({ name, hives, kilos, jar_grams: jar, gifts })`
      ${name}'s ${hives} beehives give ${kilos} kg of honey each. All of it is filled into jars of
      ${jar} g. ${name} gives away ${gifts} jars and sells the others. How many jars are sold?
      Honey: ${hives} × ${kilos} = ${hives * kilos} kg.
      In grams: ${hives * kilos} × 1000 = ${grams} g.
      Jars: ${grams} ÷ ${jar} = ${jars}.
      Sold: ${jars} − ${gifts} = ${jars - gifts}.`;
  },

  ploughing(random) {
    const hectares = random.int(2, 5), hours = random.int(4, 20), fuel = random.int(11, 26);
    const area = hectares * hours, tank = random.int(20, 60);
    const need = hours * fuel;
    const missing = need - tank;
    if (missing <= 0) return null;
    return story({ hectares_per_hour: hectares, fuel, tank, area })`
      A tractor ploughs ${hectares} hectares an hour and burns ${fuel} litres of fuel an hour. Its
      tank still holds ${tank} litres. How many more litres are needed to plough a field of ${area}
      hectares?
      Time: ${area} ÷ ${hectares} = ${hours} hours.
      Fuel: ${hours} × ${fuel} = ${need} litres.
      Missing: ${need} − ${tank} = ${missing} litres.`;
  },

  crops(random) {
    const [x, y, z] = random.sample(["wheat", "maize", "clover", "barley", "rye", "flax"], 3);
    const a = random.int(4, 9), b = random.int(2, a - 1), c = random.int(1, 5);
    const part = random.int(2, 15), total = (a + b + c) * part;
    return story({ crop1: x!, crop2: y!, crop3: z!, ratio: `${a}:${b}:${c}`, total })`
      A farm of ${total} hectares grows ${x}, ${y} and ${z} in the ratio ${a} : ${b} : ${c}. How
      many more hectares of ${x} than of ${y} are there?
      Parts: ${a} + ${b} + ${c} = ${a + b + c}.
      One part: ${total} ÷ ${a + b + c} = ${part} hectares.
      Difference in parts: ${a} − ${b} = ${a - b}.
      Difference: ${a - b} × ${part} = ${(a - b) * part} hectares.`;
  },

  climber(random) {
    const animal = pick(random, "snail, caterpillar, beetle, tree frog");
    const up = random.int(4, 12), down = random.int(1, up - 2), net = up - down;
    const days = random.int(3, 15), height = up + net * (days - 1) - random.int(0, net - 1);
    return story({ animal, up, down, height })`
      A ${animal} sits at the foot of a post of ${height} dm. Every day it climbs ${up} dm, and
      every night it slides down ${down} dm. On which day (1 for the first) does it reach the top?
      By a day and a night it gains ${up} − ${down} = ${net} dm.
      On day ${days - 1} it comes only to ${up} + ${days - 2} × ${net} = ${up + (days - 2) * net}
        dm, less than ${height}.
      On the next day it could come to ${up} + ${days - 1} × ${net} = ${up + (days - 1) * net} dm,
        so it reaches the top on day ${days}.`;
  },

  rainfall(random) {
    const { name } = person(random);
    const days = random.int(4, 7), mean = random.int(5, 20);
    const known: number[] = [];
    for (let i = 1; i < days; i++) known.push(random.int(1, mean + 3));
    const sum = known.reduce((a, b) => a + b), last = mean * days - sum;
    if (last < 0) return null;
    return story({ name, days, mean, first_days: sum })`
      ${capitalize(name)} measures the rain of ${days} days. On the first ${days - 1} days it is
      ${known.slice(0, -1).join(", ")} and ${known.at(-1)} mm, and the average of all ${days} days
      is ${mean} mm. How many millimetres fall on the last day?
      All days: ${days} × ${mean} = ${mean * days} mm.
      First days: ${known.join(" + ")} = ${sum} mm.
      Last day: ${mean * days} − ${sum} = ${last} mm.`;
  },
};

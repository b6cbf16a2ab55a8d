/** Word problems about counting: common multiples, arrangements, sequences, digits. */
import { gcdOf } from "../divisors.ts";
import { names, person, pick, story, type Templates } from "./template.ts";

export const counting: Templates = {
  together(random) {
    const thing = pick(random, "bells ring, lighthouses flash, fountains start, clocks chime");
    const common = random.int(2, 6), a = common * random.int(2, 5), b = common * random.int(2, 7);
    if (a === b) return null;
    const every = a * b / gcdOf(a, b), span = every * random.int(3, 40) + random.int(1, every - 1);
    const times = Math.floor(span / every);
    return story({ thing, every1: a, every2: b, span })`
      Two ${thing} together now. From then on one does so every ${a} minutes and the other every
      ${b} minutes. How many more times do they do it together within the next ${span} minutes?
      The smallest number of minutes that both ${a} and ${b} divide is ${every}.
      ${span} ÷ ${every} is ${(span / every).toFixed(2)}, so it happens ${times} more times.`;
  },

  ribbons(random) {
    const material = pick(random, "ribbons, planks, ropes, strips of paper");
    const piece = random.int(6, 24), m = random.int(3, 12), n = random.int(3, 12);
    if (gcdOf(m, n) !== 1 || m === n) return null;
    return story({ material, length1: piece * m, length2: piece * n })`
      Two ${material}, ${piece * m} cm and ${piece * n} cm long, are cut into pieces that are all
      equally long and as long as possible, so that nothing is left over. How many pieces are there
      in all?
      The largest number that divides ${piece * m} and ${piece * n} is ${piece}.
      First: ${piece * m} ÷ ${piece} = ${m} pieces.
      Second: ${piece * n} ÷ ${piece} = ${n} pieces.
      In all: ${m} + ${n} = ${m + n} pieces.`;
  },

  consecutive(random) {
    const object = pick(random, "house numbers, page numbers, raffle tickets, locker numbers");
    const count = random.choice([3, 5, 7]), middle = random.int(count, 150);
    const last = middle + (count - 1) / 2;
    return story({ object, count, sum: count * middle })`
      The sum of ${count} ${object} that follow each other without a gap (such as 4, 5, 6) is
      ${count * middle}. What is the largest of them?
      The middle one is their average: ${count * middle} ÷ ${count} = ${middle}.
      The largest one: ${middle} + ${(count - 1) / 2} = ${last}.`;
  },

  digits(random) {
    const book = pick(random, "diary, dictionary, novel, cookery book");
    const pages = random.int(101, 600), blank = random.int(2, 9);
    const three = pages - 99, total = 9 + 180 + 3 * three;
    return story({ book, pages, blank })`
      A ${book} has ${pages + blank} pages. The last ${blank} are blank and have no number; the
      others are numbered from 1 to ${pages}. How many digits are printed for all page numbers?
      Pages 1 to 9: 9 digits.
      Pages 10 to 99: 90 × 2 = 180 digits.
      Pages 100 to ${pages}: ${three} × 3 = ${3 * three} digits.
      In all: 9 + 180 + ${3 * three} = ${total} digits.`;
  },

  strokes(random) {
    const place = pick(
      random,
      "town hall, church, school, railway station, castle, museum, harbour, mill",
    );
    const first = random.int(1, 7), last = random.int(first + 2, 12);
    let hours = 0;
    for (let hour = first; hour <= last; hour++) hours += hour;
    const halves = last - first;
    return story({ place, first, last })`
      The clock of a ${place} strikes as many times as the hour says at every full hour and once at
      every half hour. How many times does it strike from ${first}:00 to ${last}:00 of one morning,
      both included?
      Full hours: ${Array.from({ length: last - first + 1 }, (_, i) => first + i).join(" + ")} =
        ${hours}.
      Half hours: ${last} − ${first} = ${halves}.
      In all: ${hours} + ${halves} = ${hours + halves}.`;
  },

  outfits(random) {
    const { name, they } = person(random);
    const shirts = random.int(3, 9), trousers = random.int(2, 6), hats = random.int(2, 5);
    const odd = random.int(1, 3), all = shirts * trousers * hats, ugly = odd * hats;
    return story({ name, shirts, trousers, hats, never: odd })`
      ${name} has ${shirts} shirts, ${trousers} pairs of trousers and ${hats} hats and always wears
      one of each. There ${odd === 1 ? "is 1 pair" : `are ${odd} pairs`} of a shirt and trousers
      that ${they} never wears together. How many different outfits are possible?
      Without the exception: ${shirts} × ${trousers} × ${hats} = ${all}.
      Never worn: ${odd} × ${hats} = ${ugly}.
      Possible: ${all} − ${ugly} = ${all - ugly}.`;
  },

  podium(random) {
    const event = pick(random, "a sack race, a spelling contest, a dance contest, a go-kart race");
    const n = random.int(4, 15), all = n * (n - 1) * (n - 2);
    const [winner] = names(random, 1);
    return story({ event, children: n, name: winner })`
      ${n} children, among them ${winner}, take part in ${event}. Nobody shares a place. In how
      many ways can the first three places be taken if ${winner} does not win?
      First place: ${n} − 1 = ${n - 1} children.
      Second place: ${n} − 1 = ${n - 1} children, now with ${winner}.
      Third place: ${n} − 2 = ${n - 2} children.
      Ways: ${n - 1} × ${n - 1} × ${n - 2} = ${all - (n - 1) * (n - 2)}.`;
  },

  album(random) {
    const { name, they } = person(random);
    const item = pick(random, "stickers, pressed leaves, postcards, beer mats");
    const a = random.int(4, 9), b = a + 1, rest = random.int(1, a - 1), low = random.int(20, 200);
    let count = low + 1;
    while (count % a !== rest || count % b !== rest) count++;
    const every = a * b;
    return story({ name, item, row1: a, row2: b, rest, low })`
      ${name} has more than ${low} ${item}, but not more than ${low + every}. In rows of ${a} there
      are always ${rest} left over, and in rows of ${b} there are ${rest} left over as well. How
      many ${item} does ${they} have?
      Without those left over the number can be divided by ${a} and ${b}, so by ${a} × ${b} =
        ${every}.
      The numbers that are ${rest} more than a multiple of ${every} lie ${every} apart; between
        ${low + 1} and ${low + every} there is only ${count}.`;
  },

  tower(random) {
    const { name } = person(random);
    const object = pick(random, "cans, cubes, melons, logs");
    const top = random.int(1, 4), layers = random.int(4, 14), bottom = top + layers - 1;
    const used = (top + bottom) * layers / 2, stock = used + random.int(2, bottom);
    return story({ name, object, top, layers, stock })`
      ${name} stacks ${object} in layers. The top layer has ${top}, and each layer has one more than
      the layer above it. With ${layers} layers, how many of ${stock} ${object} are not used?
      The bottom layer has ${top} + ${layers - 1} = ${bottom}.
      Used: (${top} + ${bottom}) × ${layers} ÷ 2 = ${used}.
      Not used: ${stock} − ${used} = ${stock - used}.`;
  },

  sequence(random) {
    const [a, b] = names(random, 2);
    const start = random.int(4, 20), factor = random.int(2, 3), minus = random.int(1, start - 2);
    const count = random.int(3, 4);
    let value = start;
    const steps: string[] = [];
    for (let i = 2; i <= count + 1; i++) {
      const next = value * factor - minus;
      steps.push(`Number ${i}: ${value} × ${factor} − ${minus} = ${next}.`);
      value = next;
    }
    return story({ name1: a, name2: b, start, factor, minus, turns: count })`
      ${a} writes down ${start}. Then ${b} and ${a} take turns: each multiplies the
      last number by ${factor}, subtracts ${minus} and writes down the result. What is the number
      after ${count} turns?
      ${steps.join("\n")}`;
  },

  purse(random) {
    const { name } = person(random);
    const [small, large] = random.choice([[5, 20], [10, 50], [2, 10], [1, 5]] as const);
    const many = random.int(2, 6), few = random.int(3, 25);
    const total = few * large + few * many * small;
    return story({ name, small, large, many, total })`
      ${name}'s purse holds ${total} cents in coins of ${small} and ${large} cents. There are
      ${many} times as many of the small coins as of the large ones. How many coins are in the
      purse?
      One large coin with its small ones: ${large} + ${many} × ${small} = ${large + many * small}
        cents.
      Large coins: ${total} ÷ ${large + many * small} = ${few}.
      All coins: ${few} × (1 + ${many}) = ${few * (many + 1)}.`;
  },
};

/** Word problems about lengths, areas, weights, recipes and clock times. */
import { multiple, person, pick, story, type Templates } from "./template.ts";

export const measures: Templates = {
  fence(random) {
    const { name } = person(random);
    const length = random.int(12, 90), width = random.int(6, 60), gate = random.int(2, 5);
    const price = random.int(6, 25);
    const metres = 2 * (length + width) - gate;
    return story({ name, length, width, gate, price })`
      ${name} puts a fence around a rectangular pasture that is ${length} m long and ${width} m
      wide, leaving a gap of ${gate} m for a gate. The fence costs $${price} a metre. How many
      dollars does the fence cost?
      All the way round: 2 × (${length} + ${width}) = ${2 * (length + width)} m.
      Without the gap: ${2 * (length + width)} − ${gate} = ${metres} m.
      Cost: ${metres} × $${price} = $${metres * price}.`;
  },

  tiles(random) {
    const room = pick(random, "kitchen, hallway, terrace, bathroom");
    const side = random.choice([20, 25, 40, 50]);
    const across = random.int(6, 30), along = random.int(6, 40), spare = random.int(2, 20);
    const width = across * side, length = along * side;
    return story({ room, length, width, side, spare })`
      The floor of a ${room} is ${length} cm long and ${width} cm wide. It is covered with square
      tiles whose sides are ${side} cm, and ${spare} spare tiles are bought as well. How many tiles
      are bought?
      Along the length: ${length} ÷ ${side} = ${along} tiles.
      Along the width: ${width} ÷ ${side} = ${across} tiles.
      Floor: ${along} × ${across} = ${along * across} tiles.
      With the spare ones: ${along * across} + ${spare} = ${along * across + spare}.`;
  },

  recipe(random) {
    const { name, they } = person(random);
    const dish = pick(random, "pancakes, risotto, vegetable curry, apple crumble");
    const portions = random.int(2, 8), perPortion = random.int(5, 40) * 5;
    const guests = random.int(9, 40);
    const atHome = multiple(random, 10, 200, 10);
    const need = guests * perPortion, buy = need - atHome;
    return story({ name, dish, portions, grams: portions * perPortion, guests, at_home: atHome })`
      A recipe for ${portions} portions of ${dish} needs ${portions * perPortion} g of the main
      ingredient. ${name} cooks for ${guests} people, one portion each, and has ${atHome} g at home.
      How many grams does ${they} have to buy?
      One portion: ${portions * perPortion} ÷ ${portions} = ${perPortion} g.
      ${guests} portions: ${guests} × ${perPortion} = ${need} g.
      To buy: ${need} − ${atHome} = ${buy} g.`;
  },

  schedule(random) {
    const { name } = person(random);
    const lessons = random.int(3, 7), minutes = random.choice([35, 40, 45, 50]);
    const pause = random.choice([5, 10, 15]), startHour = random.int(7, 9);
    const total = lessons * minutes + (lessons - 1) * pause;
    return story({ name, lessons, minutes, pause })`
      On Mondays ${name} has ${lessons} lessons of ${minutes} minutes with a break of ${pause}
      minutes between one lesson and the next. The first begins at ${startHour}:00. How many minutes
      after ${startHour}:00 does the last lesson end?
      Lessons: ${lessons} × ${minutes} = ${lessons * minutes} minutes.
      There are ${lessons - 1} breaks: ${lessons - 1} × ${pause} = ${(lessons - 1) * pause} minutes.
      Together: ${lessons * minutes} + ${(lessons - 1) * pause} = ${total} minutes.`;
  },

  rope(random) {
    const material = pick(random, "rope, ribbon, copper wire, pipe");
    const piece = random.int(12, 80), count = random.int(3, 15), waste = random.int(1, 3);
    const rest = random.int(5, 60), total = count * piece + (count * waste) + rest;
    return story({ material, total, count, piece, waste })`
      From ${total} cm of ${material}, ${count} pieces of ${piece} cm each are cut off. Every cut
      wastes ${waste} cm, and each piece takes one cut. How many centimetres of ${material} remain?
      A piece with its cut uses ${piece} + ${waste} = ${piece + waste} cm.
      ${count} of them use ${count} × ${piece + waste} = ${count * (piece + waste)} cm.
      ${total} − ${count * (piece + waste)} = ${rest} cm remain.`;
  },

  lorry(random) {
    const cargo = pick(random, "flour, cement, rice, salt");
    const bag = random.choice([20, 25, 40, 50]), bags = random.int(20, 120);
    const empty = multiple(random, 2000, 6000, 100), driver = random.int(60, 110);
    const total = empty + driver + bag * bags;
    return story({ cargo, bag, empty, driver, total })`
      A lorry weighs ${empty} kg empty; its driver weighs ${driver} kg. On a weighbridge the loaded
      lorry with its driver weighs ${total} kg. The load consists of ${cargo} in bags of ${bag} kg.
      How many bags are on the lorry?
      Load: ${total} − ${empty} − ${driver} = ${bag * bags} kg.
      Bags: ${bag * bags} ÷ ${bag} = ${bags}.`;
  },

  garden(random) {
    const { name, they } = person(random);
    const length = random.int(8, 40), width = random.int(6, 30), path = random.int(1, 2);
    const inner = (length - 2 * path) * (width - 2 * path), area = length * width;
    return story({ name, length, width, path })`
      ${name} has a rectangular garden of ${length} m by ${width} m. All around, along the inside of
      its edge, ${they} lays a path that is ${path} m wide. How many square metres does the path
      cover?
      Whole garden: ${length} × ${width} = ${area} m².
      Inside the path: ${length - 2 * path} × ${width - 2 * path} = ${inner} m².
      Path: ${area} − ${inner} = ${area - inner} m².`;
  },
};

/** Word problems about cooking, food and parties. */
import { capitalize } from "../../../text/spelling.ts";
import { multiple, names, person, pick, story, type Templates } from "./template.ts";

export const kitchen: Templates = {
  biscuits(random) {
    const { name } = person(random);
    const kind = pick(random, "ginger biscuits, cheese straws, meringues, almond rolls");
    const tray = random.int(8, 30), minutes = random.int(9, 25), trays = random.int(3, 12);
    const wanted = tray * (trays - 1) + random.int(1, tray), pause = random.int(2, 6);
    const total = trays * minutes + (trays - 1) * pause;
    return story({ name, kind, wanted, tray, minutes, pause })`
      ${name} needs ${wanted} ${kind}. One tray with up to ${tray} of them is in the oven at a time,
      for ${minutes} minutes, and between two trays there is a pause of ${pause} minutes. How many
      minutes pass from the beginning of the first tray to the end of the last?
      ${wanted} ÷ ${tray} is ${(wanted / tray).toFixed(2)}, so there are ${trays} trays.
      Baking: ${trays} × ${minutes} = ${trays * minutes} minutes.
      Pauses: (${trays} − 1) × ${pause} = ${(trays - 1) * pause} minutes.
      In all: ${trays * minutes} + ${(trays - 1) * pause} = ${total} minutes.`;
  },

  pizza(random) {
    const hungry = random.int(3, 15), others = random.int(3, 15), big = random.int(3, 4);
    const small = big - 1, slices = random.choice([6, 8, 10, 12]);
    const need = hungry * big + others * small, pizzas = Math.ceil(need / slices);
    const occasion = pick(random, "a birthday party, a film night, a team dinner, moving day");
    return story({ occasion, slices, hungry, big, others })`
      For ${occasion}, pizzas with ${slices} slices each are ordered. ${hungry} guests eat ${big}
      slices each and ${others} guests eat ${small} each. How many slices are left over if as few
      pizzas as possible are ordered?
      Eaten: ${hungry} × ${big} + ${others} × ${small} = ${need} slices.
      ${need} ÷ ${slices} is ${(need / slices).toFixed(2)}, so ${pizzas} pizzas are needed.
      They have ${pizzas} × ${slices} = ${pizzas * slices} slices.
      Left over: ${pizzas * slices} − ${need} = ${pizzas * slices - need}.`;
  },

  syrup(random) {
    const { name } = person(random);
    const flavour = pick(random, "elderflower, raspberry, lemon, mint");
    const parts = random.int(4, 9), bottles = random.int(2, 6), ml = 50 * random.int(4, 14);
    const all = bottles * ml * (parts + 1), glass = random.choice([200, 250, 300]);
    const glasses = Math.floor(all / glass);
    return story({ name, flavour, parts, bottles, ml, glass })`
      ${capitalize(flavour)} syrup is mixed with water, ${parts} parts of
      water to one part of syrup. ${name} uses up ${bottles} bottles with ${ml} ml of syrup each.
      How many glasses of ${glass} ml can be filled completely with the drink?
      Syrup: ${bottles} × ${ml} = ${bottles * ml} ml.
      Drink: ${bottles * ml} × ${parts + 1} = ${all} ml.
      ${all} ÷ ${glass} is ${(all / glass).toFixed(2)}, so ${glasses} glasses can be filled.`;
  },

  jar(random) {
    const content = pick(random, "jam, olives, pickles, peanut butter, sand");
    const empty = multiple(random, 100, 400, 10), half = multiple(random, 150, 900, 10);
    const full = empty + 2 * half;
    return story({ content, full, half_full: empty + half })`
      A jar full of ${content} weighs ${full} g. When half of the ${content} is taken out, the jar
      weighs ${empty + half} g. How many grams does the empty jar weigh?
      Half of the ${content}: ${full} − ${empty + half} = ${half} g.
      Without the other half: ${empty + half} − ${half} = ${empty} g.`;
  },

  nutMix(random) {
    const [x, y] = random.sample(["hazelnuts", "cashews", "raisins", "almonds", "walnuts"], 2);
    const kilosX = random.int(2, 12), kilosY = random.int(2, 12);
    const priceX = random.int(6, 20), priceY = random.int(6, 20), gain = random.int(2, 6);
    const cost = kilosX * priceX + kilosY * priceY, kilos = kilosX + kilosY;
    const income = kilos * (Math.ceil(cost / kilos) + gain);
    return story({
      x: x!,
      y: y!,
      kilos_x: kilosX,
      kilos_y: kilosY,
      price_x: priceX,
      price_y: priceY,
    })`
      A grocer mixes ${kilosX} kg of ${x} bought at $${priceX} a kilogram with ${kilosY} kg of ${y}
      bought at $${priceY} a kilogram and sells the whole mixture at
      $${Math.ceil(cost / kilos) + gain} a kilogram. How many dollars of profit does that make?
      Cost: ${kilosX} × $${priceX} + ${kilosY} × $${priceY} = $${cost}.
      Mixture: ${kilosX} + ${kilosY} = ${kilos} kg.
      Income: ${kilos} × $${Math.ceil(cost / kilos) + gain} = $${income}.
      Profit: $${income} − $${cost} = $${income - cost}.`;
  },

  tea(random) {
    const place = pick(random, "office, staff room, guest house, waiting room");
    const box = random.choice([20, 25, 40, 50]), boxes = random.int(3, 10);
    const weekday = random.int(5, 16), weekend = random.int(1, weekday - 2);
    const week = 5 * weekday + 2 * weekend, weeks = Math.floor(box * boxes / week);
    if (weeks < 2) return null;
    return story({ place, box, boxes, weekday, weekend })`
      In a${place === "office" ? "n" : ""} ${place}, ${weekday} tea bags are used on each day from
      Monday to Friday and ${weekend} on each day of the weekend. There are ${boxes} boxes of ${box}
      tea bags. How many tea bags are left after as many full weeks as they last for?
      A week: 5 × ${weekday} + 2 × ${weekend} = ${week} tea bags.
      There are ${boxes} × ${box} = ${boxes * box} tea bags, enough for ${weeks} full weeks.
      Left: ${boxes * box} − ${weeks} × ${week} = ${boxes * box - weeks * week}.`;
  },

  tables(random) {
    const feast = pick(random, "wedding, jubilee, village feast, graduation party");
    const seats = random.choice([8, 10, 12, 16, 20]), full = random.int(5, 20);
    const last = random.int(2, seats - 1);
    const absent = random.int(1, 9), guests = full * seats + last, invited = guests + absent;
    return story({ feast, invited, absent, seats })`
      ${invited} guests are invited to a ${feast}, but ${absent} cannot come. The others sit at
      tables for ${seats}, and every table but the last is full. How many people sit at the last
      table?
      Guests who come: ${invited} − ${absent} = ${guests}.
      ${full} × ${seats} = ${full * seats}, so ${full} tables are full.
      At the last table: ${guests} − ${full * seats} = ${last}.`;
  },

  bakeSale(random) {
    const [a, b] = names(random, 2);
    const cakes = random.int(3, 9), pieces = random.choice([8, 10, 12, 16]);
    const price = random.int(2, 4);
    const unsold = random.int(2, 7), flour = random.int(8, 25);
    const sold = cakes * pieces - unsold, profit = sold * price - flour;
    const each = Math.floor(profit / 2);
    return story({ name1: a, name2: b, cakes, pieces, unsold, price, ingredients: flour })`
      ${a} and ${b} bake ${cakes} cakes, cut each into ${pieces} pieces and sell all but
      ${unsold} of them for $${price} apiece. The ingredients cost $${flour}. They share the profit
      equally in whole dollars and give a dollar that may remain to charity. How many dollars does
      each of them get?
      Sold: ${cakes} × ${pieces} − ${unsold} = ${sold} pieces.
      Income: ${sold} × $${price} = $${sold * price}.
      Profit: $${sold * price} − $${flour} = $${profit}.
      ${
      profit % 2 === 0
        ? `Each gets $${profit} ÷ 2 = $${each}.`
        : `One dollar goes to charity, so each gets ($${profit} − $1) ÷ 2 = $${each}.`
    }`;
  },

  dough(random) {
    const { name, they } = person(random);
    const bread = pick(random, "rye bread, flat bread, brioche, corn bread");
    const cup = random.choice([120, 125, 150]), cups = random.int(3, 8);
    const bag = random.choice([1000, 2500]);
    const loaves = Math.floor(bag / (cup * cups)), used = loaves * cup * cups;
    if (loaves < 1 || used === bag) return null;
    return story({ name, bread, cup, cups, bag })`
      One loaf of ${bread} needs ${cups} cups of flour, and a cup holds ${cup} g. ${name} has a bag
      with ${bag} g of flour and bakes as many loaves as ${they} can. How many grams of flour are
      left?
      A loaf: ${cups} × ${cup} = ${cups * cup} g.
      ${bag} ÷ ${cups * cup} is ${(bag / (cups * cup)).toFixed(2)}, so ${they} bakes ${loaves}.
      Used: ${loaves} × ${cups * cup} = ${used} g.
      Left: ${bag} − ${used} = ${bag - used} g.`;
  },

  freezer(random) {
    const food = pick(random, "berries, soup, dumplings, fish");
    const start = random.int(12, 28), fall = random.int(2, 5), hours = random.int(8, 20);
    const below = fall * hours - start;
    if (below < 2 || below > 40) return null;
    return story({ food, start, fall, hours })`
      A new freezer is filled with ${food} at ${start} °C. The temperature falls by ${fall} degrees
      every hour. How many degrees below zero is it after ${hours} hours?
      It falls by ${fall} × ${hours} = ${fall * hours} degrees.
      Below zero: ${fall * hours} − ${start} = ${below} degrees.`;
  },
};

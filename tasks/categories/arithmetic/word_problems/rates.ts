/** Word problems about speed, work, flow and growth. */
import { capitalize } from "../../../text/spelling.ts";
import { multiple, names, person, pick, story, type Templates } from "./template.ts";

export const rates: Templates = {
  twoLegs(random) {
    const { name, they } = person(random);
    const vehicle = pick(random, "van, motorcycle, bus, lorry");
    const speed1 = multiple(random, 40, 110, 5), speed2 = multiple(random, 40, 110, 5);
    const hours1 = random.int(1, 6), hours2 = random.int(1, 6);
    const far1 = speed1 * hours1, far2 = speed2 * hours2;
    return story({ name, vehicle, speed1, hours1, speed2, hours2 })`
      ${name} drives a ${vehicle} at ${speed1} km/h for ${hours1} hour${s(hours1)}. After a break
      ${they} goes on at ${speed2} km/h for ${hours2} hour${s(hours2)}. How many kilometres does
      ${they} drive in all?
      First part: ${speed1} × ${hours1} = ${far1} km.
      Second part: ${speed2} × ${hours2} = ${far2} km.
      In all: ${far1} + ${far2} = ${far1 + far2} km.`;
  },

  meeting(random) {
    const [a, b] = names(random, 2);
    const speedA = random.int(3, 25), speedB = random.int(3, 25), hours = random.int(2, 9);
    const distance = (speedA + speedB) * hours;
    return story({ name1: a, name2: b, distance, speed1: speedA, speed2: speedB })`
      Two villages are ${distance} km apart. ${a} cycles from the first towards the second at
      ${speedA} km/h, and at the same moment ${b} sets out from the second towards the first at
      ${speedB} km/h. How many kilometres from the first village do they meet?
      They come closer by ${speedA} + ${speedB} = ${speedA + speedB} km each hour.
      They meet after ${distance} ÷ ${speedA + speedB} = ${hours} hours.
      By then ${a} has gone ${speedA} × ${hours} = ${speedA * hours} km.`;
  },

  tank(random) {
    const vessel = pick(random, "rain barrel, fish tank, swimming pool, water tower");
    const inflow = random.int(12, 60), outflow = random.int(2, inflow - 4);
    const minutes = random.int(6, 95), start = random.int(0, 30) * 10;
    const full = start + (inflow - outflow) * minutes;
    return story({ vessel, capacity: full, start, inflow, outflow })`
      A ${vessel} holds ${full} litres when full and has ${start} litres in it. A hose brings
      ${inflow} litres a minute while a leak loses ${outflow} litres a minute. After how many
      minutes is the ${vessel} full?
      There is room for ${full} − ${start} = ${full - start} litres.
      Each minute adds ${inflow} − ${outflow} = ${inflow - outflow} litres.
      It is full after ${full - start} ÷ ${inflow - outflow} = ${minutes} minutes.`;
  },

  workers(random) {
    const task = pick(random, "paint a fence, harvest a vineyard, lay the paving of a square");
    const crew = random.int(3, 10), days = random.int(4, 18);
    const total = crew * days;
    const options = [];
    for (let n = 2; n <= Math.min(60, total / 2); n++) {
      if (total % n === 0 && n !== crew) options.push(n);
    }
    if (options.length === 0) return null;
    const newCrew = random.choice(options), newDays = total / newCrew;
    return story({ task, crew, days, new_crew: newCrew })`
      ${crew} workers need ${days} days to ${task}. How many days would ${newCrew} workers need who
      all work at the same pace?
      The whole job is ${crew} × ${days} = ${total} days of work for one person.
      ${newCrew} workers need ${total} ÷ ${newCrew} = ${newDays} days.`;
  },

  machines(random) {
    const product = pick(random, "screws, bottles, chocolates, tiles");
    const rateA = random.int(11, 60), rateB = random.int(11, 60);
    const together = random.int(5, 30), alone = random.int(5, 30);
    const total = (rateA + rateB) * together + rateA * alone;
    return story({ product, rate_new: rateA, rate_old: rateB, together, alone })`
      A factory has two machines for ${product}. The old one makes ${rateB} a minute, the new one
      ${rateA} a minute. Both run for ${together} minutes; then the old one breaks down and the new
      one runs on alone for ${alone} minutes. How many ${product} are made?
      Together they make ${rateA} + ${rateB} = ${rateA + rateB} a minute.
      In ${together} minutes that is ${(rateA + rateB) * together}.
      The new one alone makes ${rateA} × ${alone} = ${rateA * alone}.
      In all: ${(rateA + rateB) * together} + ${rateA * alone} = ${total}.`;
  },

  doubling(random) {
    const [thing, place] = random.choice(
      [["water lilies", "on a pond"], ["yeast cells", "in a dish"], [
        "rabbits",
        "on an island",
      ]] as const,
    );
    const start = random.int(3, 40), factor = random.int(2, 3), periods = random.int(2, 5);
    const unit = pick(random, "day, week, month");
    const steps = [`At the start there are ${start}.`];
    let count = start;
    for (let i = 1; i <= periods; i++) {
      steps.push(`After ${i} ${unit}${s(i)}: ${count} × ${factor} = ${count * factor}.`);
      count *= factor;
    }
    return story({ thing, start, factor, periods, unit })`
      There are ${start} ${thing} ${place}, and each ${unit} their number
      ${factor === 2 ? "doubles" : "triples"}. How many are there after ${periods} ${unit}s?
      ${steps.join("\n")}`;
  },

  reading(random) {
    const { name, they, their } = person(random);
    const daily = random.int(8, 35), days = random.int(3, 12), faster = random.int(2, 20);
    const rest = random.int(2, 12), pages = daily * days + (daily + faster) * rest;
    return story({ name, pages, daily, days, faster })`
      ${name} reads a book of ${pages} pages. For ${days} days ${they} reads ${daily} pages a day.
      Then ${their} holidays begin and ${they} reads ${faster} pages a day more than before. How
      many days of the holidays does ${they} need to finish the book?
      Before the holidays: ${daily} × ${days} = ${daily * days} pages.
      Left: ${pages} − ${daily * days} = ${pages - daily * days} pages.
      In the holidays: ${daily} + ${faster} = ${daily + faster} pages a day.
      That takes ${pages - daily * days} ÷ ${daily + faster} = ${rest} days.`;
  },

  training(random) {
    const { name, they } = person(random);
    const sport = pick(random, "runs, swims, rows, skates");
    const unit = sport === "swims" ? "laps" : "kilometres";
    const first = random.int(2, 15), more = random.int(1, 5), days = random.int(4, 10);
    const last = first + more * (days - 1), total = (first + last) * days / 2;
    return story({ name, first, more, days, last })`
      On the first day of a training camp ${name} ${sport} ${first} ${unit}, and on every further
      day ${they} does ${more} more than on the day before. How many ${unit} does ${they} do in the
      ${days} days of the camp?
      On the last day it is ${first} + ${days - 1} × ${more} = ${last}.
      The average of the first and the last day, times ${days}: (${first} + ${last}) × ${days} ÷ 2 =
        ${total}.`;
  },

  candles(random) {
    const { name, they } = person(random);
    const burn = random.int(2, 6), hours = random.int(3, 9), left = random.int(4, 45);
    const height = burn * hours + left;
    const kind = capitalize(pick(random, "a red, a white, a beeswax"));
    return story({ name, height, burn, hours })`
      ${kind} candle is ${height} cm tall and burns down ${burn} cm an hour. ${name} lights it at
      ${12 - hours} o'clock in the morning. How many centimetres tall is it when ${they} puts it out
      at noon?
      From ${12 - hours} o'clock to noon it burns for ${hours} hours.
      It loses ${burn} × ${hours} = ${burn * hours} cm.
      ${height} − ${burn * hours} = ${left} cm remain.`;
  },
};

function s(count: number): string {
  return count === 1 ? "" : "s";
}

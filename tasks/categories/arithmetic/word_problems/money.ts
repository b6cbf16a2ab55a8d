/** Word problems about prices, wages and savings. */
import { capitalize } from "../../../text/spelling.ts";
import { multiple, names, person, pick, story, type Templates } from "./template.ts";

const SHOPS = [
  { shop: "stationery shop", a: "notebook", b: "pencil" },
  { shop: "bakery", a: "loaf", b: "bun", aPlural: "loaves" },
  { shop: "hardware store", a: "hammer", b: "brush", bPlural: "brushes" },
  { shop: "garden centre", a: "rose bush", b: "seed packet", aPlural: "rose bushes" },
  { shop: "toy shop", a: "puzzle", b: "marble bag" },
];

export const money: Templates = {
  change(random) {
    const { name, they } = person(random);
    const goods = random.choice(SHOPS);
    const n = random.int(2, 9), m = random.int(2, 12);
    const priceA = random.int(4, 25), priceB = random.int(2, 9);
    const total = n * priceA + m * priceB;
    const paid = Math.ceil((total + random.int(1, 40)) / 10) * 10;
    const a = goods.aPlural ?? `${goods.a}s`, b = goods.bPlural ?? `${goods.b}s`;
    return story({ name, count_a: n, count_b: m, price_a: priceA, price_b: priceB, total, paid })`
      At the ${goods.shop}, ${name} buys ${n} ${a} at $${priceA} each and ${m} ${b} at $${priceB}
      each. ${capitalize(they)} pays with $${paid}. How many dollars of change does ${they} get?
      The ${a} cost ${n} × $${priceA} = $${n * priceA}.
      The ${b} cost ${m} × $${priceB} = $${m * priceB}.
      Together that is $${n * priceA} + $${m * priceB} = $${total}.
      The change is $${paid} − $${total} = $${paid - total}.`;
  },

  discount(random) {
    const { name } = person(random);
    const item = pick(random, "coat, bicycle, tent, guitar, desk, camera");
    const percent = random.choice([10, 15, 20, 25, 30, 40, 60]);
    const price = multiple(random, 40, 600, 20);
    const delivery = random.int(5, 25);
    const saved = price * percent / 100;
    const paid = price - saved + delivery;
    return story({ name, item, price, percent, delivery, saved })`
      A ${item} is priced at $${price}. ${name} has a voucher for ${percent}% off and pays
      $${delivery} for delivery, to which the voucher does not apply. How many dollars does ${name}
      pay in total?
      The voucher is worth ${percent}% of $${price}, which is $${saved}.
      The ${item} costs $${price} − $${saved} = $${price - saved}.
      With delivery that is $${price - saved} + $${delivery} = $${paid}.`;
  },

  overtime(random) {
    const { name, they } = person(random);
    const job = pick(random, "warehouse, hospital kitchen, print shop, call centre, farm");
    const wage = 2 * random.int(6, 15), normal = random.choice([32, 36, 38, 40]);
    const extra = random.int(2, 14), overtimeWage = wage * 3 / 2;
    const pay = normal * wage + extra * overtimeWage;
    return story({
      name,
      job,
      wage,
      normal_hours: normal,
      extra_hours: extra,
      overtime_wage: overtimeWage,
    })`
      At a ${job}, ${name} earns $${wage} an hour for the first ${normal} hours of a week and one
      and a half times as much for every hour after that. Last week ${they} worked ${normal + extra}
      hours. How many dollars did ${they} earn?
      The first ${normal} hours earn ${normal} × $${wage} = $${normal * wage}.
      There are ${normal + extra} − ${normal} = ${extra} extra hours.
      An extra hour earns 1.5 × $${wage} = $${overtimeWage}.
      The extra hours earn ${extra} × $${overtimeWage} = $${extra * overtimeWage}.
      In all: $${normal * wage} + $${extra * overtimeWage} = $${pay}.`;
  },

  savingGoal(random) {
    const { name, their } = person(random);
    const goal = pick(random, "telescope, keyboard, skateboard, sewing machine, kayak");
    const weekly = random.int(6, 30), spent = random.int(1, weekly - 2);
    const weeks = random.int(5, 40), start = random.int(10, 150);
    const net = weekly - spent, price = start + net * weeks;
    return story({ name, goal, weekly, spent, start, price })`
      ${name} wants to buy a ${goal} for $${price} and already has $${start}. Each week ${name} gets
      $${weekly} of pocket money, spends $${spent} of it, and puts the rest in ${their} money box.
      After how many weeks is there exactly enough money?
      Missing at the start: $${price} − $${start} = $${price - start}.
      Each week adds $${weekly} − $${spent} = $${net}.
      That takes ${price - start} ÷ ${net} = ${weeks} weeks.`;
  },

  stallProfit(random) {
    const { name } = person(random);
    const [item, unit] = random.choice(
      [["lemonade", "cups"], ["soup", "bowls"], ["popcorn", "bags"], ["milk", "glasses"]] as const,
    );
    const sold = random.int(20, 120), price = random.int(3, 8), unitCost = random.int(1, price - 1);
    const rent = random.int(3, Math.min(60, sold * (price - unitCost) - 1));
    const profit = sold * (price - unitCost) - rent;
    return story({ name, item, sold, price, unit_cost: unitCost, rent })`
      At a street festival ${name} sells ${sold} ${unit} of ${item} for $${price} each. The
      ingredients cost $${unitCost} for each of the ${unit}, and the stall costs $${rent} for the
      day. How many dollars of profit does ${name} make?
      Each of the ${unit} earns $${price} − $${unitCost} = $${price - unitCost}.
      All of them earn ${sold} × $${price - unitCost} = $${sold * (price - unitCost)}.
      After the rent, $${sold * (price - unitCost)} − $${rent} = $${profit} remain.`;
  },

  splitBill(random) {
    const [host, guest] = names(random, 2);
    const friends = random.int(3, 9), share = random.int(8, 30), tip = random.int(2, 4) * friends;
    const coupon = random.int(1, 6) * 5;
    const bill = friends * share - tip + coupon;
    return story({ name1: host, name2: guest, friends, bill, coupon, tip })`
      ${host}, ${guest} and ${friends - 2} other friend${friends === 3 ? "" : "s"} have
      dinner. The bill is $${bill}. They use a coupon worth $${coupon}, then add a tip of $${tip},
      and split what is left equally among all ${friends} of them. How many dollars does each one
      pay?
      After the coupon: $${bill} − $${coupon} = $${bill - coupon}.
      With the tip: $${bill - coupon} + $${tip} = $${friends * share}.
      Each of ${friends} pays $${friends * share} ÷ ${friends} = $${share}.`;
  },

  phonePlan(random) {
    const { name } = person(random);
    const base = random.int(8, 30), included = multiple(random, 50, 300, 50);
    const perMinute = random.int(5, 30), extra = multiple(random, 20, 150, 10);
    const cents = perMinute * extra;
    const total = base * 100 + cents;
    return story({ name, base, included, cents_per_minute: perMinute, extra_minutes: extra })`
      A phone plan costs $${base} a month and includes ${included} minutes of calls. Every further
      minute costs ${perMinute} cents. Last month ${name} called for ${included + extra} minutes.
      How many cents did the plan cost that month?
      Minutes beyond the plan: ${included + extra} − ${included} = ${extra}.
      They cost ${extra} × ${perMinute} = ${cents} cents.
      The plan itself is ${base} × 100 = ${base * 100} cents.
      Together: ${base * 100} + ${cents} = ${total} cents.`;
  },

  bulkOffer(random) {
    const { name } = person(random);
    const item = pick(random, "yoghurts, batteries, tins of beans, light bulbs, bars of soap");
    const price = random.int(2, 9), group = random.int(2, 4), sets = random.int(2, 10);
    const rest = random.int(0, group - 1);
    const count = sets * (group + 1) + rest, paidFor = sets * group + rest;
    return story({ name, item, price, group, count })`
      A supermarket sells ${item} for $${price} apiece, and whoever pays for ${group} gets one more
      for free. What is the least number of dollars for which ${name} can take home exactly ${count}
      ${item}?
      ${group} paid and 1 free make sets of ${group + 1}.
      ${count} = ${sets} × ${group + 1} + ${rest}, so there are ${sets} full sets and ${rest} more.
      To pay for: ${sets} × ${group} + ${rest} = ${paidFor}.
      That costs ${paidFor} × $${price} = $${paidFor * price}.`;
  },
};

/** Word problems about work at home and in a workshop: paint, power, data, stock and loans. */
import { capitalize } from "../../../text/spelling.ts";
import { multiple, names, person, pick, story, type Templates } from "./template.ts";

export const work: Templates = {
  painting(random) {
    const room = pick(random, "attic, cellar, garage, studio");
    const length = random.int(4, 12), width = random.int(3, 9), height = random.int(2, 4);
    const openings = random.int(3, 9), cover = random.choice([5, 6, 8, 10]);
    const walls = 2 * (length + width) * height, area = walls - openings;
    const tins = Math.ceil(area / cover);
    return story({ room, length, width, height, openings, cover })`
      The walls of a rectangular ${room}, ${length} m long, ${width} m wide and ${height} m high,
      are painted. Door and windows, ${openings} m² together, stay as they are. A tin of paint is
      enough for ${cover} m². How many tins have to be bought?
      Walls: 2 × (${length} + ${width}) × ${height} = ${walls} m².
      To paint: ${walls} − ${openings} = ${area} m².
      ${area} ÷ ${cover} is ${(area / cover).toFixed(2)}, so ${tins} tins are bought.`;
  },

  power(random) {
    const device = pick(random, "heater, pump, oven, projector, dryer");
    const watts = multiple(random, 500, 3000, 500), hours = 2 * random.int(1, 5);
    const days = random.int(4, 30);
    const cents = random.choice([20, 25, 30, 35, 40]), wattHours = watts * hours * days;
    const units = wattHours / 1000, cost = units * cents;
    return story({ device, watts, hours, days, cents })`
      A ${device} takes ${watts} watts. It runs for ${hours} hours a day on ${days} days. A
      kilowatt-hour (one hour at 1000 watts) costs ${cents} cents. How many cents does running it
      cost?
      Hours: ${hours} × ${days} = ${hours * days}.
      Energy: ${watts} × ${hours * days} ÷ 1000 = ${units} kilowatt-hours.
      Cost: ${units} × ${cents} = ${cost} cents.`;
  },

  download(random) {
    const { name } = person(random);
    const what = pick(random, "a game, a film, an atlas, a backup");
    const fast = random.int(6, 20), slow = random.int(2, fast - 2);
    const seconds = 10 * random.int(6, 60);
    const rest = 10 * random.int(3, 40), size = fast * seconds + slow * rest;
    return story({ name, what, size, fast, seconds, slow })`
      ${name} downloads ${what} of ${size} MB. For ${seconds} seconds it comes at ${fast} MB a
      second, then a brother begins to watch videos and it comes at ${slow} MB a second. How many
      seconds does the whole download take?
      At first: ${fast} × ${seconds} = ${fast * seconds} MB.
      Remaining: ${size} − ${fast * seconds} = ${slow * rest} MB.
      That takes ${slow * rest} ÷ ${slow} = ${rest} seconds.
      In all: ${seconds} + ${rest} = ${seconds + rest} seconds.`;
  },

  printers(random) {
    const paper = pick(random, "leaflets, programmes, posters, forms");
    const a = random.int(10, 40), b = random.int(10, 40), minutes = random.int(5, 30);
    const head = random.int(2, 10), total = a * head + (a + b) * minutes;
    return story({ paper, total, rate1: a, rate2: b, head_start: head })`
      A copy shop has to print ${total} ${paper}. The first printer, which makes ${a} a minute, runs
      alone for ${head} minutes; then the second one, which makes ${b} a minute, helps. How many
      minutes after the first printer was started is the work done?
      Alone: ${a} × ${head} = ${a * head}.
      Remaining: ${total} − ${a * head} = ${total - a * head}.
      Both: ${a} + ${b} = ${a + b} a minute.
      Together they need ${total - a * head} ÷ ${a + b} = ${minutes} minutes.
      In all: ${head} + ${minutes} = ${head + minutes} minutes.`;
  },

  deductions(random) {
    const { name, their } = person(random);
    const job = pick(random, "nurse, plumber, gardener, librarian, electrician");
    const wage = multiple(random, 1600, 4800, 200), tax = random.choice([10, 15, 20, 25]);
    const rent = multiple(random, 400, 900, 50), rate = random.choice([10, 20, 50]);
    const net = wage * (100 - tax) / 100, rest = net - rent, saved = rest * rate / 100;
    if (rest <= 0 || !Number.isInteger(saved)) return null;
    return story({ name, job, wage, tax, rent, saving_rate: rate })`
      ${name} is a ${job} and earns $${wage} a month. ${tax}% of it is tax, and the rent is
      $${rent}. Of what remains ${name} puts ${rate}% into ${their} savings. How many dollars are
      saved each month?
      After tax: $${wage} × (100 − ${tax}) ÷ 100 = $${net}.
      After the rent: $${net} − $${rent} = $${rest}.
      Saved: ${rate}% of ${rest} = ${saved} dollars.`;
  },

  loan(random) {
    const { name } = person(random);
    const thing = pick(random, "a piano, a motorboat, a greenhouse, a kiln, a sofa");
    const months = random.choice([12, 18, 24, 36]), rate = random.int(25, 120);
    const down = multiple(random, 50, 400, 50);
    const interest = random.int(20, 200), price = months * rate + down - interest;
    return story({ name, thing, price, down, rate, months })`
      ${capitalize(thing)} costs $${price}. ${name} pays $${down} at once and
      then $${rate} a month for ${months} months. How many dollars more than the price is that?
      Monthly payments: ${months} × $${rate} = $${months * rate}.
      Paid in all: $${down} + $${months * rate} = $${down + months * rate}.
      More than the price: $${down + months * rate} − $${price} = $${interest}.`;
  },

  waterBill(random) {
    const [a, b] = names(random, 2);
    const base = random.int(10, 40), price = random.int(2, 6), used = random.int(8, 40);
    const more = random.int(3, 20), bill = base + price * used;
    return story({ name1: a, name2: b, used, more, bill })`
      A water bill has a fixed part and a price for each cubic metre. ${a} used ${used} cubic
      metres and pays $${bill}; ${b} used ${used + more} and pays $${bill + more * price}. How
      many dollars is the fixed part?
      ${more} cubic metres more cost $${bill + more * price} − $${bill} = $${more * price}.
      One costs ${more * price} ÷ ${more} = ${price} dollars.
      ${a}'s water: ${used} × $${price} = $${used * price}.
      Fixed part: $${bill} − $${used * price} = $${base}.`;
  },

  stairs(random) {
    const { name, they } = person(random);
    const floor = random.int(3, 12), steps = random.int(14, 22), trips = random.int(2, 6);
    const rests = random.int(1, floor - 1), total = floor * steps * trips * 2;
    return story({ name, floor, steps, trips, rest_floor: rests })`
      There are ${steps} steps from each floor to the next. ${name} lives on floor ${floor}, and the
      entrance is on floor 0. Moving in, ${they} carries boxes up ${trips} times and goes down again
      each time, resting on floor ${rests}. How many steps does ${they} climb or descend in all?
      Up once: ${floor} × ${steps} = ${floor * steps} steps.
      Up and down: 2 × ${floor * steps} = ${2 * floor * steps} steps.
      In all: ${trips} × ${2 * floor * steps} = ${total} steps.`;
  },

  interest(random) {
    const { name } = person(random);
    const amount = multiple(random, 200, 5000, 100), percent = random.int(2, 7);
    const years = random.int(2, 9);
    const yearly = amount * percent / 100, fee = random.int(1, Math.floor(yearly / 2));
    return story({ name, amount, percent, fee, years })`
      ${name} has $${amount} in an account. At the end of every year ${percent}% of these $${amount}
      are paid out as interest, and the bank takes a fee of $${fee} from each payment. How many
      dollars does ${name} receive in ${years} years?
      Interest a year: ${percent}% of ${amount} = ${yearly} dollars.
      After the fee: $${yearly} − $${fee} = $${yearly - fee}.
      In ${years} years: ${years} × $${yearly - fee} = $${years * (yearly - fee)}.`;
  },

  stock(random) {
    const item = pick(random, "umbrellas, lamps, kettles, rucksacks, helmets");
    const start = random.int(120, 600), weekly = random.int(20, 60);
    const delivered = random.int(5, weekly - 8);
    const limit = random.int(10, 60), net = weekly - delivered;
    const weeks = Math.ceil((start - limit) / net);
    return story({ item, start, weekly, delivered, limit })`
      A shop has ${start} ${item}. Every week it sells ${weekly} of them and gets ${delivered} new
      ones. It places a big order as soon as ${limit} or fewer are left at the end of a week. After
      how many weeks is that?
      The stock falls by ${weekly} − ${delivered} = ${net} a week.
      It has to fall by ${start} − ${limit} = ${start - limit}.
      ${start - limit} ÷ ${net} is ${((start - limit) / net).toFixed(2)}, so the order is placed
        after ${weeks} weeks.`;
  },

  bookshelf(random) {
    const { name, they } = person(random);
    const thick = random.int(25, 60), thin = random.int(8, 24), board = 10 * random.int(60, 120);
    const volumes = random.int(5, 12), room = board - volumes * thick;
    const more = Math.floor(room / thin);
    if (room < 60) return null;
    return story({ name, board, volumes, thick, thin })`
      A shelf is ${board} mm wide. ${name} puts ${volumes} volumes of an encyclopedia on it, each
      ${thick} mm thick, and fills the rest with magazines of ${thin} mm. How many magazines fit at
      most?
      Encyclopedia: ${volumes} × ${thick} = ${volumes * thick} mm.
      Room: ${board} − ${volumes * thick} = ${room} mm.
      ${room} ÷ ${thin} is ${(room / thin).toFixed(2)}, so ${they} can add ${more}.`;
  },
};

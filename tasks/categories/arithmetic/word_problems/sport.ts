/** Word problems about games, races and teams. */
import { multiple, names, person, pick, story, type Templates } from "./template.ts";

export const sport: Templates = {
  league(random) {
    const team = pick(random, "Harbour, Valley, Old Town, Riverside, Hill");
    const wins = random.int(3, 18), draws = random.int(2, 12), losses = random.int(1, 12);
    const points = 3 * wins + draws, games = wins + draws + losses;
    return story({ team, games, points, losses })`
      In a football league a win is worth 3 points, a draw 1 point and a defeat nothing. After
      ${games} games the ${team} team has ${points} points and has lost ${losses}
      time${losses === 1 ? "" : "s"}. How many games has it won?
      Not lost: ${games} − ${losses} = ${games - losses} games.
      If all of them were draws, that would be ${games - losses} points; missing: ${points} −
        ${games - losses} = ${points - games + losses}.
      Each win adds 2 more: ${points - games + losses} ÷ 2 = ${wins} wins.`;
  },

  baskets(random) {
    const { name, they } = person(random);
    const two = random.int(4, 14), three = random.int(2, 9), free = random.int(2, 12);
    const team = random.int(70, 120), points = 2 * two + 3 * three + free;
    return story({ name, two, three, free, team })`
      In a game of basketball ${name} makes ${two} shots for two points, ${three} shots for three
      points and ${free} free throws for one point each. The whole team scores ${team} points. How
      many points did the others in ${they === "she" ? "her" : "his"} team score?
      Twos: ${two} × 2 = ${2 * two}.
      Threes: ${three} × 3 = ${3 * three}.
      ${name}: ${2 * two} + ${3 * three} + ${free} = ${points}.
      The others: ${team} − ${points} = ${team - points}.`;
  },

  pace(random) {
    const { name, they } = person(random);
    const slow = random.int(6, 9), fast = random.int(4, slow - 1), km = random.int(8, 30);
    const first = random.int(3, km - 3), rest = random.int(2, 9);
    const total = first * fast + rest + (km - first) * slow;
    return story({ name, km, first, fast, rest, slow })`
      ${name} runs ${km} km. The first ${first} km take ${fast} minutes each; then ${they} rests for
      ${rest} minutes and needs ${slow} minutes for each remaining kilometre. How many minutes pass
      from the start to the finish?
      First part: ${first} × ${fast} = ${first * fast} minutes.
      Remaining: ${km} − ${first} = ${km - first} km.
      Second part: ${km - first} × ${slow} = ${(km - first) * slow} minutes.
      In all: ${first * fast} + ${rest} + ${(km - first) * slow} = ${total} minutes.`;
  },

  relay(random) {
    const [a, b, c, d] = names(random, 4);
    const first = random.int(52, 75), quicker = random.int(1, 6), slower = random.int(1, 8);
    const last = random.int(50, 75), second = first - quicker, third = second + slower;
    const total = first + second + third + last;
    return story({ name1: a, name2: b, name3: c, name4: d, first, total })`
      In a relay ${a} runs ${first} seconds. ${b} is ${quicker}
      second${quicker === 1 ? "" : "s"} quicker than ${a}, and ${c} ${slower}
      second${slower === 1 ? "" : "s"} slower than ${b}. Together with ${d} they need
      ${total} seconds. How many seconds does ${d} run?
      ${b}: ${first} − ${quicker} = ${second} seconds.
      ${c}: ${second} + ${slower} = ${third} seconds.
      The three: ${first} + ${second} + ${third} = ${first + second + third} seconds.
      ${d}: ${total} − ${first + second + third} = ${last} seconds.`;
  },

  wheel(random) {
    const vehicle = pick(random, "bicycle, scooter, wheelchair, handcart");
    const around = random.choice([80, 100, 120, 150, 160, 200, 210]);
    const turns = 50 * random.int(4, 60);
    const metres = around * turns / 100, back = multiple(random, 10, 90, 10);
    if (back >= metres) return null;
    return story({ vehicle, around, turns, back })`
      The wheel of a ${vehicle} rolls ${around} cm in one turn. It makes ${turns} turns forwards and
      then goes ${back} m straight back. How many metres is it from where it started?
      Forwards: ${turns} × ${around} = ${turns * around} cm.
      In metres: ${turns * around} ÷ 100 = ${metres} m.
      From the start: ${metres} − ${back} = ${metres - back} m.`;
  },

  knockout(random) {
    const game = pick(random, "tennis, badminton, darts, squash, table football");
    const players = random.int(9, 90), minutes = multiple(random, 15, 45, 5);
    const games = players - 1;
    return story({ game, players, minutes })`
      In a ${game} tournament with ${players} players, whoever loses a match is out, until one is
      left. There is one more match, for the third place. Every match takes ${minutes} minutes. How
      many minutes do all matches take one after another?
      All but one player lose exactly once: ${players} − 1 = ${games} matches.
      With the one for the third place: ${games} + 1 = ${games + 1}.
      Time: ${games + 1} × ${minutes} = ${(games + 1) * minutes} minutes.`;
  },

  highJump(random) {
    const { name, they } = person(random);
    const start = multiple(random, 90, 140, 5), first = random.choice([4, 5]);
    const many = random.int(2, 5);
    const then = random.int(2, 3), cleared = random.int(2, 6);
    const best = start + first * many + then * cleared;
    return story({
      name,
      start,
      big_step: first,
      big_steps: many,
      small_step: then,
      small_steps: cleared,
    })`
      In a high jump the bar begins at ${start} cm. It is raised by ${first} cm ${many} times and
      after that always by ${then} cm. ${name} jumps once at every height, clears the first
      ${1 + many + cleared} of them and then fails. How many centimetres high is the highest bar
      that ${they} clears?
      After the big steps: ${start} + ${many} × ${first} = ${start + first * many} cm.
      Small steps: ${1 + many + cleared} − 1 − ${many} = ${cleared}.
      Highest: ${start + first * many} + ${cleared} × ${then} = ${best} cm.`;
  },

  pool(random) {
    const { name, they } = person(random);
    const length = random.choice([25, 50]), daily = 2 * random.int(8, 30), days = random.int(3, 6);
    const weeks = random.int(2, 8), metres = length * daily * days * weeks;
    return story({ name, pool_length: length, daily, days, weeks })`
      ${name} swims ${daily} lengths of a ${length} m pool on ${days} days of each week. How many
      metres does ${they} swim in ${weeks} weeks?
      A day: ${daily} × ${length} = ${daily * length} m.
      A week: ${days} × ${daily * length} = ${days * daily * length} m.
      ${weeks} weeks: ${weeks} × ${days * daily * length} = ${metres} m.`;
  },

  shirts(random) {
    const sport = pick(random, "volleyball, handball, hockey, rugby");
    const price = multiple(random, 12, 40, 2), limit = random.choice([10, 20, 30]);
    const percent = random.choice([10, 25, 50]), count = limit + random.int(2, 25);
    const reduced = price * (100 - percent) / 100;
    if (!Number.isInteger(reduced)) return null;
    const cost = limit * price + (count - limit) * reduced;
    return story({ sport, price, limit, percent, count })`
      A ${sport} club orders ${count} shirts. The first ${limit} cost $${price} each, and every
      further one is ${percent}% cheaper. How many dollars do all the shirts cost?
      The first ${limit}: ${limit} × $${price} = $${limit * price}.
      A further one: $${price} less ${percent}% is $${reduced}.
      Further ones: (${count} − ${limit}) × $${reduced} = $${(count - limit) * reduced}.
      In all: $${limit * price} + $${(count - limit) * reduced} = $${cost}.`;
  },

  skiLift(random) {
    const lift = pick(random, "ski lift, cable car, chair lift, mountain railway");
    const seats = random.int(2, 8), perMinute = random.int(2, 6), waiting = random.int(80, 400);
    const arriving = random.int(1, Math.min(20, seats * perMinute - 2));
    const net = seats * perMinute - arriving, minutes = Math.ceil(waiting / net);
    return story({ lift, seats, cabins: perMinute, waiting, arriving })`
      At a ${lift}, ${waiting} people wait. Every minute ${perMinute} cabins with ${seats} seats
      each take people up, all seats taken, while ${arriving} more join the queue. After how many
      full minutes is the queue gone for the first time?
      Taken up a minute: ${perMinute} × ${seats} = ${seats * perMinute}.
      The queue shrinks by ${seats * perMinute} − ${arriving} = ${net} a minute.
      ${waiting} ÷ ${net} is ${(waiting / net).toFixed(2)}, so it takes ${minutes} minutes.`;
  },
};

/** Word problems that work backwards or from conditions: ages, heads and legs, averages. */
import { capitalize } from "../../../text/spelling.ts";
import { names, person, pick, story, type Templates } from "./template.ts";

export const puzzles: Templates = {
  ages(random) {
    const [child, parent] = names(random, 2);
    const age = random.int(4, 15), times = random.int(2, 4), years = random.int(2, 12);
    const later = times * (age + years), now = later - years;
    return story({ name1: child, name2: parent, age, years, times })`
      ${child} is ${age} years old. In ${years} years ${parent} will be ${times} times as
      old as ${child} will be then. How old is ${parent} now?
      In ${years} years ${child} will be ${age} + ${years} = ${age + years}.
      ${parent} will then be ${times} × ${age + years} = ${later}.
      Now ${parent} is ${later} − ${years} = ${now}.`;
  },

  headsAndLegs(random) {
    const [few, many, legsFew, legsMany] = random.choice(
      [
        ["chickens", "goats", 2, 4],
        ["bicycles", "cars", 2, 4],
        ["tricycles", "cars", 3, 4],
        ["geese", "beetles", 2, 6],
      ] as const,
    );
    const a = random.int(3, 90), b = random.int(3, 90);
    const total = a + b, legs = a * legsFew + b * legsMany;
    const part = many === "cars" ? "wheels" : "legs";
    return story({ few, many, total, legs })`
      In a yard there are ${total} ${few} and ${many} in all, and together they have ${legs} ${part}
      (${legsFew} for each of the ${few}, ${legsMany} for each of the ${many}). How many ${many} are
      there?
      If all were ${few}, there would be ${total} × ${legsFew} = ${total * legsFew} ${part}.
      There are ${legs} − ${total * legsFew} = ${legs - total * legsFew} more.
      Each of the ${many} adds ${legsMany} − ${legsFew} = ${legsMany - legsFew}, so there are
        ${legs - total * legsFew} ÷ ${legsMany - legsFew} = ${b} ${many}.`;
  },

  average(random) {
    const { name, they } = person(random);
    const tests = random.int(3, 6), mean = random.int(60, 92), shift = random.int(1, 4);
    const sum = tests * mean, target = mean + shift;
    const needed = target * (tests + 1) - sum;
    return story({ name, tests, mean, target })`
      After ${tests} tests ${name} has an average of ${mean} points. How many points does ${they}
      need in the next test for an average of ${target} points over all ${tests + 1} tests?
      So far: ${tests} × ${mean} = ${sum} points.
      Wanted: ${tests + 1} × ${target} = ${target * (tests + 1)} points.
      Needed: ${target * (tests + 1)} − ${sum} = ${needed} points.`;
  },

  thinkOfANumber(random) {
    const { name, they } = person(random);
    const secret = random.int(3, 90), times = random.int(2, 9), plus = random.int(2, 60);
    const divisors = [2, 3, 4, 5].filter((d) => (secret * times + plus) % d === 0);
    if (divisors.length === 0) return null;
    const divide = random.choice(divisors), result = (secret * times + plus) / divide;
    return story({ name, times, plus, divide, result })`
      ${name} thinks of a number, multiplies it by ${times}, adds ${plus} and divides the result by
      ${divide}. ${capitalize(they)} gets ${result}. Which number did ${name} think of?
      Before the division: ${result} × ${divide} = ${result * divide}.
      Before the addition: ${result * divide} − ${plus} = ${secret * times}.
      The number: ${secret * times} ÷ ${times} = ${secret}.`;
  },

  sharing(random) {
    const [a, b] = names(random, 2);
    const item = pick(random, "marbles, coins, beads, comics");
    const moved = random.int(3, 30), small = random.int(5, 60);
    const large = small + 2 * moved;
    return story({ name1: a, name2: b, item, total: small + large, moved })`
      ${a} and ${b} have ${small + large} ${item} together. After ${a} gives
      ${b} ${moved} ${item}, both have the same number. How many ${item} did ${a} have at
      first?
      At the end each has ${small + large} ÷ 2 = ${(small + large) / 2}.
      Before giving, ${a} had ${(small + large) / 2} + ${moved} = ${large}.`;
  },

  elevator(random) {
    const start = random.int(8, 90), down = random.int(2, start - 3), up = random.int(2, 60);
    const last = random.int(2, start - down + up - 1), end = start - down + up - last;
    return story({ start, down, up, last })`
      A lift stands on floor ${start}. It goes down ${down} floors, up ${up} floors and down ${last}
      floors. On which floor does it stand now?
      ${start} − ${down} = ${start - down}.
      ${start - down} + ${up} = ${start - down + up}.
      ${start - down + up} − ${last} = ${end}.`;
  },

  handshakes(random) {
    const event = pick(random, "a chess club, a table tennis group, a debating society");
    const members = random.int(5, 24), rounds = random.int(1, 3), absent = random.int(1, 3);
    const playing = members - absent, pairs = playing * (playing - 1) / 2;
    const times = ["once", "twice", "three times"][rounds - 1]!;
    return story({ members, absent, rounds, pairs })`
      Of the ${members} members of ${event}, ${absent} ${absent === 1 ? "is" : "are"} ill. Each of
      the others meets every other one of them ${times}. How many meetings are there?
      ${members} − ${absent} = ${playing} take part.
      They form ${playing} × ${playing - 1} ÷ 2 = ${pairs} pairs.
      Meetings: ${pairs} × ${rounds} = ${pairs * rounds}.`;
  },

  posts(random) {
    const object = pick(random, "lamp posts, trees, flag poles, benches");
    const gap = random.int(4, 30), count = random.int(5, 40), sides = random.int(1, 2);
    const length = gap * (count - 1);
    return story({ object, gap, length, sides })`
      Along a straight road of ${length} m there are ${object} every ${gap} m, one at the very
      beginning and one at the very end, on ${sides === 1 ? "one side" : "both sides"} of the road.
      How many ${object} are there?
      Gaps on a side: ${length} ÷ ${gap} = ${count - 1}.
      On a side there is one more than gaps: ${count}.
      In all: ${count} × ${sides} = ${count * sides}.`;
  },
};

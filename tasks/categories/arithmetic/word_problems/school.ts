/** Word problems about lessons, libraries and school events. */
import { multiple, names, person, pick, story, type Templates } from "./template.ts";

export const school: Templates = {
  lending(random) {
    const weekday = pick(random, "Monday, Tuesday, Wednesday, Thursday");
    const start = random.int(300, 2000), out = random.int(40, 150), back = random.int(20, 120);
    const donated = random.int(5, 60), worn = random.int(3, 40);
    const end = start - out + back + donated - worn;
    return story({ weekday, start, lent: out, returned: back, donated, worn })`
      On ${weekday} morning ${start} books stand in a school library. During the day ${out} are lent
      and ${back} come back. In the evening ${donated} books are donated and ${worn} worn ones are
      thrown away. How many books stand in the library then?
      After lending: ${start} − ${out} = ${start - out}.
      With those that came back: ${start - out} + ${back} = ${start - out + back}.
      With the donation: ${start - out + back} + ${donated} = ${end + worn}.
      Without the worn ones: ${end + worn} − ${worn} = ${end}.`;
  },

  photograph(random) {
    const first = random.int(5, 12), rows = random.int(3, 7), more = random.int(1, 3);
    const last = first + more * (rows - 1), seats = (first + last) * rows / 2;
    if (!Number.isInteger(seats)) return null;
    const free = random.int(1, last - 1), year = pick(random, "fifth, sixth, seventh, eighth");
    return story({ year, first, rows, more, empty_places: free })`
      For a photograph the pupils of the ${year} year stand in ${rows} rows. The front row has room
      for ${first}, and each further row for ${more} more than the one before it. ${free}
      place${free === 1 ? " stays" : "s stay"} empty. How many pupils are in the photograph?
      The back row has room for ${first} + ${rows - 1} × ${more} = ${last}.
      All rows: (${first} + ${last}) × ${rows} ÷ 2 = ${seats}.
      Pupils: ${seats} − ${free} = ${seats - free}.`;
  },

  quiz(random) {
    const { name, they } = person(random);
    const right = random.int(4, 25), wrong = random.int(2, 15), plus = random.int(3, 8);
    const minus = random.int(1, plus - 1), points = right * plus - wrong * minus;
    if (points < 2) return null;
    return story({ name, questions: right + wrong, plus, minus, points })`
      A quiz has ${right + wrong} questions. A right answer is worth ${plus} points, and for a wrong
      one ${minus} point${minus === 1 ? " is" : "s are"} taken away. ${name} answers every question
      and has ${points} points. How many questions did ${they} answer rightly?
      All right would be ${right + wrong} × ${plus} = ${(right + wrong) * plus} points.
      Missing: ${(right + wrong) * plus} − ${points} = ${(right + wrong) * plus - points}.
      Each wrong answer costs ${plus} + ${minus} = ${plus + minus} points.
      Wrong answers: ${(right + wrong) * plus - points} ÷ ${plus + minus} = ${wrong}.
      Right answers: ${right + wrong} − ${wrong} = ${right}.`;
  },

  concert(random) {
    const event = pick(random, "concert, play, circus show, science fair");
    const adults = random.int(20, 120), children = random.int(20, 150);
    const high = random.int(7, 18), low = random.int(2, high - 2);
    const income = adults * high + children * low;
    return story({
      event,
      adult_price: high,
      child_price: low,
      tickets: adults + children,
      income,
    })`
      For a school ${event}, adults pay $${high} and children $${low}. ${adults + children} tickets
      are sold for $${income} in all. How many of the tickets were for adults?
      Only children would pay ${adults + children} × $${low} = $${(adults + children) * low}.
      More than that: $${income} − $${(adults + children) * low} = $${adults * (high - low)}.
      An adult pays $${high} − $${low} = $${high - low} more.
      Adults: ${adults * (high - low)} ÷ ${high - low} = ${adults}.`;
  },

  typing(random) {
    const { name, they } = person(random);
    const speed = random.int(25, 70), minutes = random.int(8, 40), slower = random.int(3, 15);
    const rest = random.int(4, 25), words = speed * minutes + (speed - slower) * rest;
    return story({ name, words, speed, minutes, slower })`
      An essay has ${words} words. ${name} types ${speed} words a minute for ${minutes} minutes,
      then gets tired and types ${slower} words a minute less. How many minutes does ${they} type in
      all?
      At first: ${speed} × ${minutes} = ${speed * minutes} words.
      Left: ${words} − ${speed * minutes} = ${words - speed * minutes} words.
      Slower: ${speed} − ${slower} = ${speed - slower} words a minute.
      That takes ${words - speed * minutes} ÷ ${speed - slower} = ${rest} minutes.
      In all: ${minutes} + ${rest} = ${minutes + rest} minutes.`;
  },

  election(random) {
    const [a, b, c] = names(random, 3);
    const third = random.int(15, 80), second = third + random.int(3, 40);
    const first = second + random.int(2, 50), invalid = random.int(1, 12);
    const all = first + second + third + invalid;
    return story({ name1: a, name2: b, name3: c, votes: all, invalid, third })`
      In the election of a school's speaker ${all} votes are cast, of which ${invalid}
      ${invalid === 1 ? "is" : "are"} invalid. ${c} gets ${third} votes, ${b} gets
      ${second - third} more than ${c}, and ${a} gets all other valid votes. How many
      votes is ${a} ahead of ${b}?
      Valid: ${all} − ${invalid} = ${all - invalid}.
      ${b}: ${third} + ${second - third} = ${second}.
      ${a}: ${all - invalid} − ${third} − ${second} = ${first}.
      Ahead by ${first} − ${second} = ${first - second} votes.`;
  },

  practice(random) {
    const { name, they } = person(random);
    const instrument = pick(random, "the violin, the drums, the flute, the harp, the trumpet");
    const short = multiple(random, 20, 45, 5), long = short + multiple(random, 10, 40, 5);
    const days = random.int(2, 4), weeks = random.int(3, 20);
    const weekly = days * long + (6 - days) * short;
    return story({ name, instrument, long, short, long_days: days, weeks })`
      ${name} practises ${instrument} on six days a week: for ${long} minutes on ${days} of them and
      for ${short} minutes on the others. How many minutes does ${they} practise in ${weeks} weeks?
      Long days: ${days} × ${long} = ${days * long} minutes.
      Short days: ${6 - days} × ${short} = ${(6 - days) * short} minutes.
      A week: ${days * long} + ${(6 - days) * short} = ${weekly} minutes.
      ${weeks} weeks: ${weeks} × ${weekly} = ${weeks * weekly} minutes.`;
  },

  folding(random) {
    const { name } = person(random);
    const folds = random.int(2, 5), sheets = random.int(3, 20), spoiled = random.int(2, 8);
    const pieces = 2 ** folds, good = sheets * pieces - spoiled;
    return story({ name, folds, sheets, spoiled })`
      ${name} folds a sheet of paper in half ${folds} times, unfolds it and cuts along every fold,
      which gives small cards. This is done with ${sheets} sheets, and ${spoiled} of the cards are
      spoiled. How many good cards are there?
      Each fold doubles the parts: a sheet gives ${Array(folds).fill(2).join(" × ")} = ${pieces}
        cards.
      All sheets: ${sheets} × ${pieces} = ${sheets * pieces}.
      Good: ${sheets * pieces} − ${spoiled} = ${good}.`;
  },

  cooling(random) {
    const liquid = pick(random, "salt water, wax, sugar syrup, oil");
    const start = random.int(80, 160), first = random.int(2, 6), minutes = random.int(3, 8);
    const slow = random.int(1, first - 1), more = random.int(4, 15);
    const end = start - first * minutes - slow * more;
    if (end < 10) return null;
    return story({ liquid, start, fast: first, minutes, slow, more_minutes: more })`
      In a science lesson ${liquid} is heated to ${start} °C. It cools by ${first} degrees a minute
      for ${minutes} minutes, and then by ${slow} degree${slow === 1 ? "" : "s"} a minute for
      ${more} minutes. How many degrees Celsius warm is it then?
      First it loses ${first} × ${minutes} = ${first * minutes} degrees.
      Then it loses ${slow} × ${more} = ${slow * more} degrees.
      ${start} − ${first * minutes} − ${slow * more} = ${end} degrees.`;
  },

  clubs(random) {
    const [x, y] = random.sample(["choir", "robotics club", "running club", "school paper"], 2);
    const pupils = multiple(random, 120, 600, 40), fraction = random.choice([4, 5, 8]);
    const inFirst = pupils / fraction, girls = random.choice([20, 40, 50, 60, 75]);
    const rest = pupils - inFirst, second = rest * girls / 100;
    if (!Number.isInteger(second)) return null;
    const word = { 4: "quarter", 5: "fifth", 8: "eighth" }[fraction as 4 | 5 | 8];
    return story({ club1: x!, club2: y!, pupils, fraction, percent: girls })`
      One ${word} of a school's ${pupils} pupils are in the ${x}. Of those who are not, ${girls}%
      are in the ${y}. How many pupils are in neither?
      In the ${x}: ${pupils} ÷ ${fraction} = ${inFirst}.
      Not in it: ${pupils} − ${inFirst} = ${rest}.
      In the ${y}: ${girls}% of ${rest} = ${second}.
      In neither: ${rest} − ${second} = ${rest - second}.`;
  },

  pencils(random) {
    const item = pick(random, "pencils, crayons, erasers, sheets of card");
    const pupils = random.int(12, 30), packs = random.int(5, 20);
    const size = random.choice([12, 15, 20, 24, 36]);
    const all = packs * size, each = Math.floor(all / pupils), left = all - each * pupils;
    if (each < 2) return null;
    return story({ item, packs, pack_size: size, pupils })`
      A teacher has ${packs} packs of ${size} ${item} and hands out as many of them as possible so
      that each of ${pupils} pupils gets equally many. How many ${item} remain?
      In all: ${packs} × ${size} = ${all}.
      Each pupil gets ${each}, together ${pupils} × ${each} = ${pupils * each}.
      Remaining: ${all} − ${pupils * each} = ${left}.`;
  },
};

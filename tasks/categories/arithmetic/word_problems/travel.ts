/** Word problems about journeys, maps and visitors. */
import { capitalize } from "../../../text/spelling.ts";
import { multiple, names, person, pick, story, type Templates } from "./template.ts";

export const travel: Templates = {
  stops(random) {
    const vehicle = pick(random, "train, tram, bus, boat");
    const start = random.int(20, 90), off1 = random.int(3, 15), on1 = random.int(2, 30);
    const off2 = random.int(3, 15), on2 = random.int(2, 30), end = start - off1 + on1 - off2 + on2;
    return story({ vehicle, off1, on1, off2, on2, end })`
      At the first stop ${off1} people leave a ${vehicle} and ${on1} get on. At the second stop
      ${off2} leave it and ${on2} get on. Now ${end} people are on the ${vehicle}. How many were on
      it before the first stop?
      Before the second stop: ${end} − ${on2} + ${off2} = ${end - on2 + off2}.
      Before the first stop: ${end - on2 + off2} − ${on1} + ${off1} = ${start}.`;
  },

  timeZones(random) {
    const { name } = person(random);
    const start = random.int(5, 11), flight = random.int(3, 9), shift = random.int(1, 5);
    const wait = random.int(2, 4), east = random.chance(0.5);
    const here = start + flight + wait, arrival = east ? here + shift : here - shift;
    if (arrival > 23 || arrival < 12) return null;
    return story({ name, start, flight, wait, shift, direction: east ? "east" : "west" })`
      ${name} takes off at ${start}:00 and changes planes: the two flights take ${flight} hours
      together, and between them there is a wait of ${wait} hours. At the destination clocks are
      ${shift} hour${shift === 1 ? "" : "s"} ${east ? "ahead of" : "behind"} those at home. At what
      hour, from 0 to 23, of local time does ${name} land?
      At home it is then ${start} + ${flight} + ${wait} = ${here} o'clock.
      Local time: ${here} ${east ? "+" : "−"} ${shift} = ${arrival}.`;
  },

  fuel(random) {
    const { name } = person(random);
    const per = random.int(4, 12), hundreds = random.int(3, 15), price = random.int(2, 4);
    const toll = random.int(5, 60), litres = per * hundreds, cost = litres * price + toll;
    return story({ name, litres_per_100: per, distance: hundreds * 100, price, toll })`
      ${name}'s car needs ${per} litres of petrol for 100 km, and a litre costs $${price}. For a
      trip of ${hundreds * 100} km there is also a toll of $${toll}. How many dollars does the trip
      cost?
      ${hundreds * 100} ÷ 100 = ${hundreds}.
      Petrol: ${hundreds} × ${per} = ${litres} litres.
      It costs ${litres} × $${price} = $${litres * price}.
      With the toll: $${litres * price} + $${toll} = $${cost}.`;
  },

  map(random) {
    const [a, b] = random.sample(
      ["the lake", "the castle", "the station", "the mill", "the cave"],
      2,
    );
    const scale = random.choice([20_000, 25_000, 50_000, 100_000]), cm = 4 * random.int(2, 15);
    const speed = random.int(60, 100), metres = cm * scale / 100;
    const minutes = Math.ceil(metres / speed);
    return story({ from: a!, to: b!, scale, cm, speed })`
      On a map of scale 1 : ${scale} the path from ${a} to ${b} is ${cm} cm long. A walker goes
      ${speed} m a minute. In how many minutes, rounded up to a whole number, is the walk done?
      In reality: ${cm} × ${scale} = ${cm * scale} cm.
      In metres: ${cm * scale} ÷ 100 = ${metres} m.
      ${metres} ÷ ${speed} is ${(metres / speed).toFixed(2)}, rounded up to ${minutes} minutes.`;
  },

  exchange(random) {
    const { name, they } = person(random);
    const money = pick(random, "pesos, crowns, rupees, shillings, dinars");
    const rate = random.int(6, 90), dollars = random.int(20, 300), fee = random.int(2, 12);
    const back = random.int(2, Math.min(15, dollars - fee - 2)), received = (dollars - fee) * rate;
    const spent = received - back * rate;
    return story({ name, money, rate, dollars, fee, left: back * rate })`
      ${name} changes $${dollars}. The bank keeps $${fee} and pays ${rate} ${money} for each
      remaining dollar. At the end of the journey ${they} has ${back * rate} ${money} left. How many
      ${money} were spent?
      Changed: ${dollars} − ${fee} = ${dollars - fee} dollars.
      Received: ${dollars - fee} × ${rate} = ${received} ${money}.
      Spent: ${received} − ${back * rate} = ${spent} ${money}.`;
  },

  hotel(random) {
    const nights = random.int(2, 12), rooms = random.int(2, 8), price = random.int(40, 160);
    const guests = rooms * 2 - random.int(0, 1), tax = random.int(2, 5);
    const group = pick(random, "a choir, a football team, a family, a hiking club");
    const total = nights * (rooms * price + guests * tax);
    return story({ group, guests, rooms, nights, price, tax })`
      ${capitalize(group)} of ${guests} people takes ${rooms} rooms in a hotel for ${nights} nights.
      A room costs $${price} a night, and everybody pays a tax of $${tax} a night. How many dollars
      does the stay cost in all?
      Rooms a night: ${rooms} × $${price} = $${rooms * price}.
      Tax a night: ${guests} × $${tax} = $${guests * tax}.
      A night: $${rooms * price} + $${guests * tax} = $${rooms * price + guests * tax}.
      The stay: ${nights} × $${rooms * price + guests * tax} = $${total}.`;
  },

  luggage(random) {
    const [a, b] = names(random, 2);
    const limit = random.choice([15, 20, 23]), under = random.int(1, 8);
    const over = under + random.int(1, 7);
    const fee = random.int(5, 15);
    return story({ name1: a, name2: b, limit, over, under, fee })`
      An airline lets each passenger take ${limit} kg of luggage and charges $${fee} for every
      kilogram above. ${a}'s suitcase weighs ${limit + over} kg and ${b}'s
      ${limit - under} kg. To save money they move ${under} kg from the heavier to the lighter
      suitcase. How many dollars do they still pay?
      Too heavy by ${limit + over} − ${limit} = ${over} kg.
      After moving: ${over} − ${under} = ${over - under} kg.
      Fee: ${over - under} × $${fee} = $${(over - under) * fee}.`;
  },

  ascent(random) {
    const { name, they } = person(random);
    const base = multiple(random, 400, 1500, 50), rate = multiple(random, 200, 400, 50);
    const hours = random.int(2, 5), down = multiple(random, 50, 250, 50), more = random.int(1, 3);
    const top = base + rate * hours - down + rate * more;
    return story({ name, base, rate, hours, down, more_hours: more })`
      ${name} starts at a hut ${base} m above the sea and climbs ${rate} m an hour for ${hours}
      hours. Then the path drops by ${down} m, and after that ${they} climbs at the same rate for
      ${more} more hour${more === 1 ? "" : "s"} to the summit. How many metres above the sea is the
      summit?
      First climb: ${rate} × ${hours} = ${rate * hours} m.
      Second climb: ${rate} × ${more} = ${rate * more} m.
      ${base} + ${rate * hours} − ${down} + ${rate * more} = ${top} m.`;
  },

  ferry(random) {
    const cars = random.int(20, 90), capacity = random.int(4, 12), crossing = random.int(6, 25);
    const trips = Math.ceil(cars / capacity), river = pick(random, "river, fjord, strait, bay");
    if (trips < 3) return null;
    return story({ river, cars, capacity, crossing })`
      A ferry crosses a ${river} with up to ${capacity} cars at a time and needs ${crossing} minutes
      for a crossing in either direction. ${cars} cars wait on the bank where the ferry lies.
      Loading takes no time. After how many minutes at the earliest are all cars on the other side?
      ${cars} ÷ ${capacity} is ${(cars / capacity).toFixed(2)}, so there are ${trips} trips.
      Between them the ferry comes back ${trips} − 1 = ${trips - 1} times.
      Crossings: ${trips} + ${trips - 1} = ${2 * trips - 1}.
      Time: ${2 * trips - 1} × ${crossing} = ${(2 * trips - 1) * crossing} minutes.`;
  },

  catchingUp(random) {
    const [a, b] = names(random, 2);
    const slow = random.int(4, 18), lead = random.int(1, 3), hours = random.int(1, 5) * lead;
    const fast = slow * (hours + lead) / hours;
    if (!Number.isInteger(fast)) return null;
    return story({ name1: a, name2: b, slow, lead, fast })`
      ${a} sets out by bicycle at ${slow} km/h. ${lead === 1 ? "An hour" : `${lead} hours`}
      later ${b} follows on the same road at ${fast} km/h. How many kilometres from the start
      does ${b} catch up with ${a}?
      Lead: ${slow} × ${lead} = ${slow * lead} km.
      It shrinks by ${fast} − ${slow} = ${fast - slow} km each hour.
      ${slow * lead} ÷ ${fast - slow} = ${hours}.
      By then ${b} has gone ${fast} × ${hours} = ${fast * hours} km.`;
  },

  memoryCard(random) {
    const { name } = person(random);
    const photo = random.int(3, 9), film = multiple(random, 100, 400, 50), films = random.int(2, 6);
    const photos = random.int(40, 400), deleted = random.int(10, 39), room = random.int(20, 300);
    const card = photo * (photos - deleted + room) + film * films;
    return story({ name, card, photo, photos, film, films, deleted })`
      A memory card holds ${card} MB. On a journey ${name} takes ${photos} photos of ${photo} MB
      each and ${films} films of ${film} MB each, and deletes ${deleted} of the photos. How many
      more photos fit on the card?
      Photos kept: ${photos} − ${deleted} = ${photos - deleted}.
      They take ${photos - deleted} × ${photo} = ${(photos - deleted) * photo} MB.
      Films: ${films} × ${film} = ${films * film} MB.
      Free: ${card} − ${(photos - deleted) * photo} − ${films * film} = ${room * photo} MB.
      Room for ${room * photo} ÷ ${photo} = ${room} photos.`;
  },
};

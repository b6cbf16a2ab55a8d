/** Names, verbs and things for the statements of `needle_haystack`. */

const BEGINNINGS = (
  "Al Bel Bran Cal Car Cor Dar Del Dor El Em Fal Fen Gar Gil Han Har Is Jas Jor Kal Ken Kor Lan " +
  "Lin Mal Mar Mel Nor Or Per Quin Ral Ren Ros Sal Sel Tal Tor Ul Val Ven Wil Wen Yor Zan"
).split(" ");
const ENDINGS = (
  "a an ard as by da den dis do ena ett ia ian ick ina io is ith la lan lo mer min mond na nor o " +
  "ra ric ron sa son ta ton us vin wyn"
).split(" ");

/** First names, each composed of a beginning and an ending. */
export const NAMES: readonly string[] = [
  ...new Set(BEGINNINGS.flatMap((start) => ENDINGS.map((end) => start + end))),
];

export const VERBS: readonly string[] = (
  "admires|adores|appreciates|avoids|bears|believes in|cannot stand|cares about|celebrates|" +
  "cherishes|complains about|criticizes|craves|defends|despises|detests|disapproves of|dislikes|" +
  "distrusts|dreams of|endures|enjoys|envies|fears|gave up|grumbles about|hates|ignores|" +
  "insists on|is bored by|is fond of|is keen on|is proud of|is scared of|is tired of|jokes about|" +
  "keeps away from|laughs at|likes|longs for|looks forward to|loves|makes fun of|misses|" +
  "mistrusts|praises|prefers|promotes|puts up with|raves about|recommends|regrets|rejects|" +
  "resents|respects|sings of|swears by|thinks of|tolerates|treasures|values|wants|warns of|" +
  "worries about|writes about|yearns for"
).split("|");

export const THINGS: readonly string[] = (
  "ancient maps|apple pie|archery|astronomy|badgers|baking bread|ballet|basketball|beekeeping|" +
  "beetles|black coffee|board games|bonfires|bowling|brass bands|bus rides|butterflies|camels|" +
  "camping|card tricks|carpentry|carrots|castles|caves|cheese|chess|chocolate|choirs|cinnamon|" +
  "circuses|city lights|clay pots|clockwork|comets|comic books|cooking soup|coral reefs|" +
  "crossword puzzles|cycling|dancing tango|deserts|detective stories|dolphins|donkeys|" +
  "dragonflies|drawing cartoons|drumming|early mornings|electric cars|elephants|embroidery|" +
  "falcons|fencing|ferries|fishing|flamenco|foggy days|folk songs|football|fountains|foxes|" +
  "garden gnomes|geology|geometry|ghost stories|giraffes|glaciers|golf|grammar|grapefruit|" +
  "hammocks|hats|hedgehogs|high heels|hiking|history|hockey|honey|horse riding|hot springs|" +
  "ice cream|ice skating|icebergs|ironing shirts|islands|jazz|jigsaws|judo|juggling|karaoke|" +
  "kayaks|kites|knitting|ladders|lavender|lemonade|libraries|lighthouses|loud music|magic shows|" +
  "mangoes|marathons|marble statues|meteor showers|mirrors|model trains|moonlight|motorcycles|" +
  "mountains|mowing the lawn|mushrooms|night trains|noodles|novels|oak trees|octopuses|" +
  "old bridges|olives|omelettes|opera|orchids|origami|owls|paddle boats|pancakes|parades|parrots|" +
  "penguins|philosophy|photography|piano music|picnics|pigeons|planting trees|playing cards|" +
  "poetry|politics|pottery|puppets|puzzles|quiz shows|rabbits|rainy days|raking leaves|ravens|" +
  "red wine|robots|rock climbing|roller coasters|roses|rowing|sailing|salsa|sandcastles|saunas|" +
  "scary films|sculpture|seagulls|shadow plays|sheepdogs|silence|silk scarves|skiing|snails|" +
  "snowstorms|soap operas|spiders|spring cleaning|squirrels|stamps|stargazing|strawberries|" +
  "street art|submarines|sudoku|sunflowers|surfing|swimming|tap dancing|tattoos|tea|telescopes|" +
  "tennis|thunder|tigers|tomatoes|tractors|traffic jams|travel diaries|treehouses|tulips|turtles|" +
  "umbrellas|video games|violins|volcanoes|walnuts|washing dishes|waterfalls|weather reports|" +
  "weddings|whales|wild rivers|windmills|winter nights|wolves|woodcuts|yoga|zebras"
).split("|");

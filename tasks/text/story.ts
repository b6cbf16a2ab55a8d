/**
 * The story: about 1 800 words written for this project, from which tasks take words and sentences.
 * It contains plain letters only (no quotation marks, apostrophes, digits or dashes), so that `\w+`
 * finds exactly its words and a full stop ends every sentence.
 */

export const STORY = `\
The lighthouse on Gannet Rock had been dark for eleven years when Marta Oldfield rowed out to it
with a box of candles, a bag of oranges and her grandfather in the stern. The old man held the
tiller under one arm and hummed. He had kept the lamp there when he was young, and his father had
kept it before him. Now a machine on a steel post blinked at the ships instead, and nobody needed a
keeper. But the machine had failed in the autumn storms, the harbour office had no money until
spring, and the fishing boats still came home after sunset.

It will take us a week to clean the glass, said the grandfather. Marta looked up at the tower. Gulls
sat on the railing like a row of judges. The white paint had peeled away in long strips, and a young
tree grew from a crack above the door. She tied the boat to an iron ring, jumped over the slippery
stones and pushed against the wood until the hinges gave way with a groan. Inside it smelled of
salt, rust and old paper. A narrow stair wound upward into the gloom, one hundred and forty steps,
and every one of them had a hollow in the middle where boots had worn it down.

On the first day they carried water. On the second day they scrubbed. The great lens stood in the
lamp room like a crystal beehive, taller than Marta, built from rings of thick glass that had turned
brown with dust and smoke. They washed each ring with vinegar and soft rags. As the dirt came away,
small rainbows began to move across the walls. On the third day the sun broke through the clouds,
and the whole room filled with coloured light, so bright that the grandfather put on his hat to
shade his eyes. There she is, he whispered. I thought I would never see her awake again.

The clockwork was harder. A heavy weight on a chain was meant to sink slowly through the centre of
the tower, and while it sank it turned the lens, once around in every thirty seconds. Sailors knew
the lights along that coast by their rhythm. A lamp that stood still would be worse than no lamp,
because a captain might take it for a farmhouse. Two brass wheels were missing, and a mouse had
raised a large family in the gear case. Marta moved the mice into a biscuit tin with holes in the
lid. Then she copied the shape of the broken wheels on paper, counted their teeth twice, and rowed
back alone to the village to find somebody who could cut metal.

The smith was a silent woman called Ines who mended anchors and bicycles. She studied the drawings
for a long time. Who calculated this, she asked. I did, said Marta. If the small wheel has twelve
teeth and the large one has ninety, the lens will turn at the right speed. Ines nodded and lit her
forge. All afternoon sparks flew around the workshop while rain hammered on the roof. When evening
came, two bright wheels lay on the bench, still warm, and Ines would accept nothing for them except
a promise. When it works, she said, I want to climb up and watch it.

Meanwhile the grandfather had found the log books. There were forty of them, bound in green cloth,
and in each one the keepers had written down the weather, the passing ships and anything strange
that happened. A whale had slept beside the rock for three nights in June. A piano had floated past
with a cat sitting on the keys. One winter the sea froze so hard that the postman walked across it,
and he delivered a single letter, which turned out to be a bill. Marta read these pages by candle
light while the wind sang in the chimney. She noticed that the handwriting changed every few years,
but the first sentence of each day was always the same. Lamp lit at dusk, burned clear until dawn.

On the fifth day they fitted the wheels. The chain ran smoothly, the weight began to sink, and the
lens moved for the first time since Marta was a baby. It moved with a low hum, like a cat that has
decided to forgive you. The grandfather pulled out his pocket watch and counted. Thirty seconds, he
said. Thirty seconds exactly. He had to sit down on an empty barrel, and for a while he polished his
glasses although they were already clean.

Only the flame was missing. The old burner needed oil under pressure, and the tank had rusted
through. They tried candles, but forty candles made a light that could hardly be seen from the pier.
They tried a lantern from the boat shed, which smoked and went out. Marta lay awake that night and
listened to the waves. She thought about the lens, which gathered every scrap of light and bent it
into one straight beam. It did not need a large flame. It needed a small flame in precisely the
right place, a point no wider than a thumb, where all the curves of glass were aiming.

In the morning she asked her neighbour Tomas for the lamp of his motorcycle. Tomas loved that
motorcycle more than his dinner, and he was a man who loved his dinner. He scratched his beard and
walked around the machine three times. How long would you need it, he wanted to know. Until spring,
said Marta. And what should I do in the dark until then, he asked. You could come home before
sunset, said his wife from the kitchen window, and that settled the matter. They packed the lamp in
wool, put the battery into a wooden crate and carried both to the harbour like a wedding cake.

By now the whole village had heard about the plan. The baker sent two loaves and a tray of plum
tarts. The teacher brought eleven pupils who wanted to see how light is bent, and they drew diagrams
on the walls with chalk. Old Captain Verhoeven, who had not spoken to the grandfather since a
quarrel about a goat, arrived with a can of white paint and a brush tied to a broom handle. Nobody
mentioned the goat. They painted the tower from top to bottom in one long afternoon, and when they
had finished, the captain and the grandfather stood side by side at the water and argued happily
about the colour of the door.

At dusk on the seventh day Marta placed the lamp inside the lens. She measured from the floor and
from the walls, slid a book underneath, took it away again and used a thinner book. Everybody held
their breath. Ines had climbed all one hundred and forty steps in her leather apron, and Tomas held
the cable as if it were a sleeping snake. Marta pressed the switch. For a moment nothing seemed to
happen, for the lamp itself was small and pale in the evening sun. Then the weight began to sink,
the wheels clicked, the lens turned, and a blade of light swept out over the sea. It touched the far
cliffs, crossed the bay, ran over the roofs of the village and came back across the dark water.

Out beyond the sandbank, where the current is dangerous, eight fishing boats were waiting for the
moon to rise. Their crews saw the beam at once. The first skipper counted under his breath, and when
he reached thirty the light passed over him again. He had not seen that rhythm since he was a boy on
the deck of his uncle, he told them later, wiping foam from his cup. One after another the boats
turned their bows towards the channel, and one after another they slipped safely between the rocks,
with their nets full of silver herring.

There was a feast in the boat shed that night. There were potatoes in butter, smoked fish, plum
tarts and a soup that nobody could name. Somebody played an accordion with two broken keys. Tomas
explained to everyone that the light was really the light of his motorcycle, and everyone agreed
that it was a remarkable motorcycle. The harbour master came late, shook hands with each guest and
said that the office had discovered some money after all. The new machine could be repaired within a
month. But perhaps, he added, looking into his hat, it would be useful to keep a second light, in
case of storms, and perhaps the village could spare a keeper.

Marta slept in the tower. Before she lay down she opened the last of the green books, turned to the
first empty page and wrote the date at the top with great care. Below her the weight sank slowly
through the dark, and the lens hummed. The mice in the biscuit tin were busy with an orange peel.
She thought for a while about everything that had happened on this day, about the paint and the goat
and the eight boats, and she wanted to put all of it on paper before she forgot a single word. But
she knew how the page had to begin. So she dipped the pen and wrote what her grandfather had
written, and his father before him, in her best and roundest letters. Lamp lit at dusk, burned clear
until dawn.

In spring the tree above the door came into leaf. They had meant to cut it down, because roots are
bad for masonry, but a pair of finches had built a nest in it, and the captain declared that finches
bring luck to sailors. The teacher came every Friday with a different class. The children learned to
read the barometer, to splice a rope, to name the clouds and to find the pole star. They tested how
far a whisper travels along the curved wall of the stair, and they wrote the result in the log book
under anything strange that happened. On clear evenings visitors rowed across from the hotel, bought
postcards and asked whether life on the rock was lonely. Marta never knew how to answer. She pointed
at the eleven hooks by the door, each with a coat on it, and went to put the kettle on.`;

let words: string[] | undefined;

/** All words of the story, in order. */
export function storyWords(): readonly string[] {
  return words ??= STORY.match(/\w+/g)!;
}

/** For `validate`: a text of the story cannot have more words than the story. */
export function storyWordErrors(max_words: number): string[] {
  const available = storyWords().length;
  return max_words <= available
    ? []
    : [`max_words: the built-in text has ${available} words, found max_words = ${max_words}`];
}

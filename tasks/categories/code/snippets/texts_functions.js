/** Reference functions on texts, for codeio. Questions show exactly the lines that run. */

export function countLetter({ text, letter }) {
  let count = 0, last = -1;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === letter) {
      count = count + 1;
      last = i;
    }
  }
  return { count, last };
}

export function turnWords({ sentence }) {
  const words = sentence.split(" ");
  return { turned: words.map((word) => word.split("").reverse().join("")).join(" ") };
}

export function runLengths({ text }) {
  let coded = "";
  let i = 0;
  while (i < text.length) {
    let end = i;
    while (end < text.length && text[end] === text[i]) end = end + 1;
    coded = coded + text[i] + (end - i);
    i = end;
  }
  return { coded };
}

export function commonestWord({ words }) {
  const counts = {};
  for (const word of words) counts[word] = (counts[word] || 0) + 1;
  let best = words[0];
  for (const word of words) if (counts[word] > counts[best]) best = word;
  return { word: best, count: counts[best], different: Object.keys(counts).length };
}

export function growingShift({ text }) {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  let coded = "";
  for (let i = 0; i < text.length; i++) {
    const place = letters.indexOf(text[i]);
    coded = coded + letters[(place + i + 1) % 26];
  }
  return { coded };
}

export function bracketDepth({ text }) {
  let depth = 0, deepest = 0, balanced = true;
  for (const character of text) {
    if (character === "(") depth = depth + 1;
    if (character === ")") depth = depth - 1;
    if (depth < 0) balanced = false;
    deepest = Math.max(deepest, depth);
  }
  return { deepest, open: depth, balanced: balanced && depth === 0 };
}

export function groupAnagrams({ words }) {
  const groups = new Map();
  for (const word of words) {
    const key = word.split("").sort().join("");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(word);
  }
  return { groups: [...groups.values()] };
}

export function zigzag({ text, rows }) {
  const lines = Array.from({ length: rows }, () => "");
  let row = 0, step = 1;
  for (const character of text) {
    lines[row] = lines[row] + character;
    if (row === 0) step = 1;
    if (row === rows - 1) step = -1;
    row = row + step;
  }
  return { rows, coded: lines.join("") };
}

export function lookAndSay({ digits, rounds }) {
  for (let round = 0; round < rounds; round++) {
    let next = "";
    for (let i = 0; i < digits.length;) {
      let end = i;
      while (digits[end] === digits[i]) end = end + 1;
      next = next + (end - i) + digits[i];
      i = end;
    }
    digits = next;
  }
  return { digits, length: digits.length };
}

export function moveToFront({ text }) {
  const shelf = "abcdefghijklmnopqrstuvwxyz".split("");
  const codes = [];
  for (const character of text) {
    const place = shelf.indexOf(character);
    codes.push(place);
    shelf.splice(place, 1);
    shelf.unshift(character);
  }
  return { codes };
}

export function editDistance({ from, to }) {
  let row = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = row[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return { distance: row[to.length], shared: from.length + to.length - row[to.length] };
}

export function sortedRotations({ text }) {
  const marked = text + "$";
  const rotations = [];
  for (let i = 0; i < marked.length; i++) rotations.push(marked.slice(i) + marked.slice(0, i));
  rotations.sort((a, b) => (a < b ? -1 : 1));
  return { coded: rotations.map((rotation) => rotation[rotation.length - 1]).join("") };
}

export function dictionaryPairs({ text }) {
  const seen = new Map([["", 0]]);
  const pairs = [];
  let prefix = "";
  for (const character of text) {
    if (seen.has(prefix + character)) {
      prefix = prefix + character;
    } else {
      pairs.push([seen.get(prefix), character]);
      seen.set(prefix + character, seen.size);
      prefix = "";
    }
  }
  if (prefix !== "") pairs.push([seen.get(prefix), ""]);
  return { pairs };
}

export function codeLengths({ text }) {
  let nodes = [];
  for (const letter of new Set(text)) {
    nodes.push({ weight: text.split(letter).length - 1, letters: letter });
  }
  const lengths = {};
  for (const { letters } of nodes) lengths[letters] = 0;
  let bits = 0;
  while (nodes.length > 1) {
    nodes.sort((a, b) => a.weight - b.weight || (a.letters < b.letters ? -1 : 1));
    const [first, second, ...others] = nodes;
    const letters = first.letters + second.letters;
    for (const letter of letters) lengths[letter] = lengths[letter] + 1;
    bits = bits + first.weight + second.weight;
    nodes = [...others, { weight: first.weight + second.weight, letters }];
  }
  return { lengths, bits };
}

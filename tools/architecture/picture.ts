/**
 * Draws a graph without circles as SVG. Each entry is above the entries that it imports.
 *
 * The method is that of Sugiyama, Tagawa and Toda (1981). The longest path to an entry without
 * imports gives its layer. An arrow gets a placeholder in each layer that it crosses. Each layer is
 * ordered by the mean place of the neighbours in the layer before, and in the end every node moves
 * towards its neighbours.
 */
import { circleIn, type EntryGraph, reduced } from "./rooms.ts";

interface Node {
  name: string;
  /** True for a placeholder of an arrow that crosses the layer. */
  passing: boolean;
  /** 0 is at the top. */
  layer: number;
  width: number;
  /** The centre of the node. */
  x: number;
  /** Neighbours in the layer above, which import this node, and in the layer below. */
  up: Node[];
  down: Node[];
}

/** In pixels; LAYER is the distance from one layer to the next. */
const GAP = 16, HEIGHT = 40, LAYER = 84, MARGIN = 16, PASSING_WIDTH = 10;

const ORDER_ROUNDS = 12, PLACE_ROUNDS = 60;

/** An upper estimate of the width of a text in a sans-serif font of 14 pixels. */
const textWidth = (text: string) => 8 * text.length;

/**
 * @param notes a few words for the second line in the box of an entry
 * @returns an SVG document, where folders have square corners and files have round ones
 * @throws Error if the graph has a circle
 */
export function drawEntries(entries: EntryGraph, notes: Readonly<Record<string, string>>): string {
  const circle = circleIn(entries);
  if (circle !== null) throw new Error(`a circle of imports: ${circle.join(" → ")}`);
  const layers = layersOf(reduced(entries), notes);
  for (let round = 0; round < ORDER_ROUNDS; round++) orderLayers(layers, round % 2 === 0);
  placeNodes(layers);
  return svg(layers, notes);
}

/** The nodes of each layer, with placeholders, in no particular order. */
function layersOf(graph: EntryGraph, notes: Readonly<Record<string, string>>): Node[][] {
  const ranks = new Map<string, number>();
  /** The length of the longest path from an entry downwards. */
  const rankOf = (name: string): number => {
    const known = ranks.get(name);
    if (known !== undefined) return known;
    const below = [...graph.get(name) ?? []].map(rankOf);
    const rank = below.length === 0 ? 0 : Math.max(...below) + 1;
    ranks.set(name, rank);
    return rank;
  };
  const height = Math.max(...[...graph.keys()].map(rankOf));
  const layers: Node[][] = Array.from({ length: height + 1 }, () => []);
  const add = (name: string, passing: boolean, layer: number): Node => {
    const note = notes[name] ?? "";
    const width = passing ? PASSING_WIDTH : Math.max(textWidth(name), 0.8 * textWidth(note)) + 24;
    const node = { name, passing, layer, width, x: 0, up: [], down: [] };
    layers[layer]!.push(node);
    return node;
  };
  const nodes = new Map(
    [...graph.keys()].sort().map((name) => [
      name,
      add(name, false, height - rankOf(name)),
    ]),
  );
  for (const [name, targets] of graph) {
    for (const target of [...targets].sort()) {
      let from = nodes.get(name)!;
      const to = nodes.get(target)!;
      for (let layer = from.layer + 1; layer <= to.layer; layer++) {
        const next = layer === to.layer ? to : add(`${name} → ${target}`, true, layer);
        from.down.push(next);
        next.up.push(from);
        from = next;
      }
    }
  }
  return layers;
}

/** Orders each layer by the mean place of the neighbours of a node in the layer visited before. */
function orderLayers(layers: Node[][], downwards: boolean): void {
  const sequence = downwards ? layers : [...layers].reverse();
  for (const layer of sequence) {
    const places = new Map(layers.flatMap((nodes) => nodes.map((node, i) => [node, i])));
    const meanPlace = (node: Node) => {
      const neighbours = downwards ? node.up : node.down;
      if (neighbours.length === 0) return places.get(node)!;
      return neighbours.reduce((sum, other) => sum + places.get(other)!, 0) / neighbours.length;
    };
    const keys = new Map(layer.map((node) => [node, meanPlace(node)]));
    layer.sort((a, b) => keys.get(a)! - keys.get(b)!);
  }
}

/** Sets `x` of all nodes: several times, every node moves towards the mean of its neighbours. */
function placeNodes(layers: Node[][]): void {
  for (const layer of layers) spread(layer, layer.map(() => 0));
  for (let round = 0; round < PLACE_ROUNDS; round++) {
    // A node without arrows stays near the others.
    const nodes = layers.flat(), middle = nodes.reduce((sum, { x }) => sum + x, 0) / nodes.length;
    for (const layer of round % 2 === 0 ? layers : [...layers].reverse()) {
      const targets = layer.map(({ up, down }) => {
        const around = [...up, ...down];
        if (around.length === 0) return middle;
        return around.reduce((sum, other) => sum + other.x, 0) / around.length;
      });
      spread(layer, targets);
    }
  }
}

/**
 * Places the nodes of a layer as near to `targets` as their order and widths allow: the sum of the
 * squared distances is the smallest.
 */
function spread(layer: Node[], targets: number[]): void {
  // Neighbours that would overlap form a block, which is placed as a whole. `offsets` are centres
  // relative to its left edge `at`. `sum` adds up the left edges that its nodes ask for.
  const blocks: { nodes: Node[]; offsets: number[]; sum: number; at: number; width: number }[] = [];
  layer.forEach((node, i) => {
    let block = {
      nodes: [node],
      offsets: [node.width / 2],
      sum: targets[i]! - node.width / 2,
      at: targets[i]! - node.width / 2,
      width: node.width,
    };
    for (;;) {
      const before = blocks.at(-1);
      if (before === undefined || before.at + before.width + GAP <= block.at) break;
      blocks.pop();
      const shift = before.width + GAP;
      const nodes = [...before.nodes, ...block.nodes];
      const sum = before.sum + block.sum - shift * block.nodes.length;
      block = {
        nodes,
        offsets: [...before.offsets, ...block.offsets.map((offset) => offset + shift)],
        sum,
        at: sum / nodes.length,
        width: shift + block.width,
      };
    }
    blocks.push(block);
  });
  for (const { nodes, offsets, at } of blocks) {
    nodes.forEach((node, i) => node.x = at + offsets[i]!);
  }
}

/** The SVG document of nodes that are placed. */
function svg(layers: Node[][], notes: Readonly<Record<string, string>>): string {
  const nodes = layers.flat();
  const left = Math.min(...nodes.map(({ x, width }) => x - width / 2)) - MARGIN;
  const right = Math.max(...nodes.map(({ x, width }) => x + width / 2)) + MARGIN;
  const height = (layers.length - 1) * LAYER + HEIGHT + 2 * MARGIN;
  const top = (node: Node) => MARGIN + node.layer * LAYER;
  const px = (value: number) => String(Math.round(value));
  const lines: string[] = [];
  for (const node of nodes.filter(({ passing }) => !passing)) {
    for (const first of node.down) {
      let path = `M${px(node.x - left)},${px(top(node) + HEIGHT)}`, from = node, to = first;
      for (;;) {
        const y1 = top(from) + HEIGHT, y2 = top(to) - (to.passing ? 0 : 6), middle = (y1 + y2) / 2;
        path += ` C${px(from.x - left)},${px(middle)} ${px(to.x - left)},${px(middle)} ` +
          `${px(to.x - left)},${px(y2)}`;
        if (!to.passing) break;
        path += ` L${px(to.x - left)},${px(top(to) + HEIGHT)}`;
        [from, to] = [to, to.down[0]!];
      }
      lines.push(`<path d="${path}" marker-end="url(#arrow)"/>`);
    }
  }
  const boxes = nodes.filter(({ passing }) => !passing).map((node) => {
    const isFile = node.name.endsWith(".ts"), note = notes[node.name] ?? "";
    const x = node.x - left, y = top(node);
    const rect = `<rect x="${px(x - node.width / 2)}" y="${y}" width="${px(node.width)}" ` +
      `height="${HEIGHT}" rx="${isFile ? 16 : 3}" class="${isFile ? "file" : "folder"}"/>`;
    const name = `<text x="${px(x)}" y="${y + (note === "" ? 25 : 17)}">${node.name}</text>`;
    const small = note === ""
      ? ""
      : `<text x="${px(x)}" y="${y + 33}" class="note">${note.replaceAll("&", "&amp;")}</text>`;
    return rect + name + small;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${px(right - left)} ${height}" ` +
    `width="${px(right - left)}" height="${height}">
<style>
  rect { stroke: #444; stroke-width: 1 } .folder { fill: #dbe9f6 } .file { fill: #f7f3e3 }
  text { font: 14px sans-serif; text-anchor: middle; fill: #111 }
  .note { font-size: 11px; fill: #444 } path { fill: none; stroke: #667; stroke-width: 1.2 }
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7"
  orient="auto"><path d="M0,0 L8,4 L0,8 z" style="fill:#667;stroke:none"/></marker></defs>
<rect x="0" y="0" width="100%" height="100%" style="fill:#fff;stroke:none"/>
${lines.join("\n")}
${boxes.join("\n")}
</svg>
`;
}

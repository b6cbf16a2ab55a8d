/**
 * Draws a graph without circles as SVG, in layers: what imports stands above what it imports. The method
 * is Sugiyama's: layers by the longest path, placeholders where an arrow crosses a layer, an order within
 * each layer that follows the neighbours, and positions that pull neighbours together.
 */
import { circleIn, type EntryGraph, reduced } from "./rooms.ts";

interface Node {
  name: string;
  /** A placeholder for an arrow that passes through the layer. */
  passing: boolean;
  layer: number;
  width: number;
  /** Centre. */
  x: number;
  up: Node[];
  down: Node[];
}

const GAP = 16, HEIGHT = 40, LAYER = 84, MARGIN = 16, PASSING_WIDTH = 10;

/** Pixels of a text in a sans-serif font of 14 pixels; a little too wide rather than too narrow. */
const textWidth = (text: string) => 8 * text.length;

/**
 * @param notes a few words for the second line of an entry's box
 * @returns an SVG document; boxes with square corners are folders, round ones are files
 * @throws Error when the graph has a circle
 */
export function drawEntries(entries: EntryGraph, notes: Readonly<Record<string, string>>): string {
  const circle = circleIn(entries);
  if (circle !== null) throw new Error(`a circle of imports: ${circle.join(" → ")}`);
  const layers = layersOf(reduced(entries), notes);
  for (let round = 0; round < 12; round++) orderLayers(layers, round % 2 === 0);
  placeNodes(layers);
  return svg(layers, notes);
}

function layersOf(graph: EntryGraph, notes: Readonly<Record<string, string>>): Node[][] {
  const depth = new Map<string, number>();
  const depthOf = (name: string): number => {
    const known = depth.get(name);
    if (known !== undefined) return known;
    const below = [...graph.get(name) ?? []].map(depthOf);
    const own = below.length === 0 ? 0 : Math.max(...below) + 1;
    depth.set(name, own);
    return own;
  };
  const height = Math.max(...[...graph.keys()].map(depthOf));
  const layers: Node[][] = Array.from({ length: height + 1 }, () => []);
  const add = (name: string, passing: boolean, layer: number): Node => {
    const note = notes[name] ?? "";
    const width = passing ? PASSING_WIDTH : Math.max(textWidth(name), 0.8 * textWidth(note)) + 24;
    const node = { name, passing, layer, width, x: 0, up: [], down: [] };
    layers[layer]!.push(node);
    return node;
  };
  // Layer 0 is on top.
  const nodes = new Map(
    [...graph.keys()].sort().map((name) => [
      name,
      add(name, false, height - depthOf(name)),
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

/** Orders each layer by the mean place of its neighbours in the layer before. */
function orderLayers(layers: Node[][], downwards: boolean): void {
  const sequence = downwards ? layers : [...layers].reverse();
  for (const layer of sequence) {
    const places = new Map(layers.flatMap((nodes) => nodes.map((node, i) => [node, i])));
    const wish = (node: Node) => {
      const neighbours = downwards ? node.up : node.down;
      if (neighbours.length === 0) return places.get(node)!;
      return neighbours.reduce((sum, other) => sum + places.get(other)!, 0) / neighbours.length;
    };
    const wishes = new Map(layer.map((node) => [node, wish(node)]));
    layer.sort((a, b) => wishes.get(a)! - wishes.get(b)!);
  }
}

function placeNodes(layers: Node[][]): void {
  for (const layer of layers) spread(layer, layer.map(() => 0));
  for (let round = 0; round < 60; round++) {
    for (const layer of round % 2 === 0 ? layers : [...layers].reverse()) {
      const wishes = layer.map(({ x, up, down }) => {
        const around = [...up, ...down];
        return around.length === 0 ? x : around.reduce((sum, n) => sum + n.x, 0) / around.length;
      });
      spread(layer, wishes);
    }
  }
}

/** Places the nodes of a layer, in their order, as near to their wishes as their widths allow. */
function spread(layer: Node[], wishes: number[]): void {
  // Neighbours that would overlap form a block, which moves as one.
  const blocks: { nodes: Node[]; offsets: number[]; sum: number; at: number; width: number }[] = [];
  layer.forEach((node, i) => {
    let block = {
      nodes: [node],
      offsets: [node.width / 2],
      sum: wishes[i]! - node.width / 2,
      at: wishes[i]! - node.width / 2,
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

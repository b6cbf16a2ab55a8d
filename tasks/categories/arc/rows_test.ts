import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { ROW_RULES } from "./arc_1d.ts";

/** Implements each rule again, on texts of digits. */
type TextRule = (row: string) => string;

const reverse = (text: string) => [...text].reverse().join("");
const digits = (text: string) => text.replaceAll("0", "");
const count = (text: string, digit: string) => text.split(digit).length - 1;
const runs = (text: string) => text.match(/([1-9])\1*/g) ?? [];

const RULES: Record<string, TextRule> = {
  gravity_right: (s) => digits(s).padEnd(s.length, "0"),
  gravity_counting_right: (s) => "1".repeat(digits(s).length).padEnd(s.length, "0"),
  gravity_antigravity_right: (s) =>
    "2".repeat(count(s, "2")).padEnd(s.length - count(s, "1"), "0") + "1".repeat(count(s, "1")),
  gravity_one_step_right: (s) => s.replace(/0([1-9]+)/g, "$10"),
  gravity_weighted_colors_right: (s) =>
    ("2".repeat(count(s, "2")) + "1".repeat(count(s, "1"))).padEnd(s.length, "0"),
  block_touch_dot: (s) => touch(s, 99, "1"),
  block_scale_to_dot: (s) =>
    s.replace(/([2-9])\1*0+1/, (all, color) => color.repeat(all.length))
      .replace(/10+([2-9])\1*/, (all, color) => color.repeat(all.length)),
  block_and_noise_remove: (s) => s.replace(/(?<![1-9])[1-9](?![1-9])/g, "0"),
  block_and_noise_remove_inside: (s) =>
    s.replace(/[1-9]+/, (block) => block[0]!.repeat(block.length)),
  move_block_by_own_size: (s) =>
    s.replace(
      /([1-9]+)(0+)$/,
      (_, block, rest) => "0".repeat(block.length) + block + rest.slice(block.length),
    ),
  two_points_and_fill: (s) => s.replace(/([1-9])0+\1/, (all, color) => color.repeat(all.length)),
  two_points_and_fill_inv: (s) =>
    s.replace(/([1-9])\1+\1/, (all, color) => color + "0".repeat(all.length - 2) + color),
  copy_block_to_dots: copyToDots,
  copy_block_to_dots_colors: copyToDots,
  repeat_pattern_full: (s) => {
    const shown = digits(s);
    assert.equal(shown.slice(0, shown.length / 2), shown.slice(shown.length / 2));
    return shown.repeat(s.length).slice(0, s.length);
  },
  reflect_block_with_border_pixel: (s) => s.replace(/[1-9]+/, reverse),
  reflect_block_random: (s) => s.replace(/[1-9]+/, reverse),
  reflect_block_around_dot: (s) => {
    const dot = s.indexOf("2");
    return [...s].map((_, i) => s[2 * dot - i] ?? "0").join("");
  },
  paint_biggest_block: (s) => {
    const longest = Math.max(...runs(s).map((run) => run.length));
    return s.replace(/[1-9]+/g, (run) => run.length === longest ? "1".repeat(longest) : run);
  },
  recolor_blocks_by_size: (s) => {
    const longest = Math.max(...runs(s).map((run) => run.length));
    return s.replace(/3+/g, (run) => (run.length === longest ? "1" : "2").repeat(run.length));
  },
  change_to_five: (s) => s.replace(/[1-9]/g, "5"),
  recolor_blocks_from_palette: (s) => {
    const palette = [.../^[1-9]+/.exec(s)![0]];
    return palette.join("") +
      s.slice(palette.length).replace(/5+/g, (run) => palette.shift()!.repeat(run.length));
  },
  color_left_half_blocks: (s) =>
    s.replace(/2+/g, (run) => "8".repeat(run.length / 2) + "2".repeat((run.length + 1) / 2)),
  sort_blocks_by_size: sorted,
  sort_complete_sequence: (s) => {
    const lengths = runs(s).map((run) => run.length).sort((a, b) => a - b);
    assert.deepEqual(lengths, lengths.map((_, i) => i + 1));
    return sorted(s);
  },
  duplicate_block_from_seeds: (s) => {
    const block = /1+/.exec(s)!, length = block[0].length;
    const copies = (side: string) => {
      const color = side[1] ?? "0";
      const one = color.repeat(length) + "0";
      return side.slice(0, 1) + (color === "0" ? side.slice(1) : one.repeat(side.length));
    };
    const left = s.slice(0, block.index), right = s.slice(block.index + length);
    return reverse(copies(reverse(left)).slice(0, left.length)) + block[0] +
      copies(right).slice(0, right.length);
  },
  fill_from_pixel: (s) =>
    s.replace(/([1-9])\1+(?!\1)([1-9])0+$/, (all, color, pixel) => {
      const length = all.lastIndexOf(color) + 1;
      return color.repeat(length) + pixel.repeat(all.length - length);
    }).replace(/^0+([1-9])(?!\1)([1-9])\2+(?=0|$)/, (all, pixel, color) => {
      const length = all.length - all.indexOf(color);
      return pixel.repeat(all.length - length) + color.repeat(length);
    }),
  fill_until_collision: (s) =>
    s.endsWith("5")
      ? s.replace(/([1-46-9])0+/g, (all, color) => color.repeat(all.length))
      : s.replace(/0+([1-46-9])/g, (all, color) => color.repeat(all.length)),
  mark_size_two_blocks: (s) => s.replace(/0(([1-9])\2)0/g, "3$13"),
};

for (const steps of [1, 2, 3, 4]) {
  RULES[`block_touch_dot_${steps}pix`] = (s) => touch(s, steps, "2");
  for (const kind of ["solid", "colorful"]) {
    RULES[`move_${steps}pix_${kind}_right`] = (s) => {
      assert.ok(s.endsWith("0".repeat(steps)));
      return "0".repeat(steps) + s.slice(0, -steps);
    };
    RULES[`move_${steps}pix_${kind}_wrapped_right`] = (s) => s.slice(-steps) + s.slice(0, -steps);
  }
}

function touch(s: string, maximum: number, dot: string): string {
  const move: TextRule = (row) =>
    row.replace(new RegExp(`([^0${dot}])(\\1*)(0+)${dot}`), (_, color, more, gap) => {
      const steps = Math.min(maximum, gap.length);
      return gap.slice(0, steps) + color + more + gap.slice(steps) + dot;
    });
  const moved = move(s);
  return moved === s ? reverse(move(reverse(s))) : moved;
}

function copyToDots(s: string): string {
  const length = /^[1-9]+/.exec(s)![0].length, half = "0".repeat(length >> 1);
  return s.slice(0, length) +
    s.slice(length).replace(
      new RegExp(`${half}([1-9])${half}`, "g"),
      (_, dot) => dot.repeat(length),
    );
}

function sorted(s: string): string {
  return runs(s).sort((a, b) => a.length - b.length).join("0").padEnd(s.length, "0");
}

function checkerOf(name: string): TextRule {
  const rule = RULES[name];
  if (rule !== undefined) return rule;
  const other = RULES[name.replace(/left$/, "right")]!;
  return (s) => reverse(other(reverse(s)));
}

Deno.test("every row of every rule follows from the question, read a second time", () => {
  assert.equal(Object.keys(ROW_RULES).length, 70);
  const options = [
    { seed: 1, size: 400 },
    { seed: 2, size: 200, min_size: 8, max_size: 8, num_train: 1 },
    { seed: 3, size: 60, min_size: 60, max_size: 100, num_train: 5 },
  ];
  const seen = new Set<string>();
  for (const option of options) {
    for (const entry of createDataset("arc_1d", option)) {
      const name = entry.metadata["task_name"] as string, rule = checkerOf(name);
      const rows = entry.question.match(/^(Input: |Output:)?[ ]?(\d )+\d$/gm)!
        .map((line) => line.replace(/[^0-9]/g, ""));
      const pairs = [...rows, entry.answer!.replaceAll(" ", "")];
      assert.equal(pairs.length, 2 * ((option.num_train ?? 3) + 1));
      for (let i = 0; i < pairs.length; i += 2) {
        assert.equal(rule(pairs[i]!), pairs[i + 1], `${name}: ${pairs[i]}`);
        assert.notEqual(pairs[i], pairs[i + 1], name);
        assert.equal(pairs[i]!.length, entry.metadata["size"]);
      }
      seen.add(name);
    }
  }
  assert.equal(seen.size, 70);
});

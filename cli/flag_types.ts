/**
 * Parsers for the values of flags, flags that several commands share, and the examples below a help
 * text.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { UsageError } from "../core/errors.ts";

/** Parses a flag's value as an integer from `min` to `max`. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isInteger(value) || value < min || value > max) {
      const isOpen = max === Number.MAX_SAFE_INTEGER && !(value > max);
      const range = isOpen ? `≥ ${min}` : `from ${min} to ${max}`;
      throw new InvalidArgumentError(`expected an integer ${range}.`);
    }
    return value;
  };
}

/** Parses a flag's value as a number from `min` (or above it) to `max`. */
export function real(min: number, max: number, { above = false } = {}) {
  return (text: string): number => {
    const value = Number(text);
    if (text.trim() === "" || !(value >= min && value <= max) || above && value === min) {
      throw new InvalidArgumentError(
        above
          ? `expected a number above ${min}, up to ${max}.`
          : `expected a number from ${min} to ${max}.`,
      );
    }
    return value;
  };
}

export function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

export function examples(...lines: string[]): string {
  const shown = lines.map((line) => `  $ ${line.split("\n").map(folded).join("\n")}`);
  return "\nExamples:\n" + shown.join("\n");
}

/** Columns of a terminal, less those before a command. */
const WIDTH = 80 - 4;

/** A long command goes on in another line, from a flag on. */
function folded(line: string): string {
  if (line.length <= WIDTH) return line;
  const at = line.lastIndexOf(" --", WIDTH - 2);
  return at <= 0 ? line : `${line.slice(0, at)} \\\n${folded(`      ${line.slice(at + 1)}`)}`;
}

/** What a command's model may be. */
export const MODEL_KINDS = "a Hugging Face folder, a GGUF file, a checkpoint or an adapter";

/**
 * The model of a command that takes it as an argument or as --model.
 * @throws UsageError for none, and for both
 */
export function oneModel(command: string, argument?: string, flag?: string): string {
  const model = argument ?? flag;
  if (model !== undefined && (argument === undefined || flag === undefined)) return model;
  throw new UsageError(`name one model: rgx ${command} MODEL`);
}

/** What the weights of a model are held in: --dtype, --load-in-8bit and --load-in-4bit. */
export function addWeightFlags(command: Command): Command {
  return command.optionsGroup("Weights and device:")
    .addOption(
      new Option("--dtype <type>", "what the weights are held in; auto: as they are stored")
        .choices(["auto", "float32", "float16", "bfloat16"]),
    )
    .option("--load-in-8bit", "quantise the linear layers when they are loaded")
    .option("--load-in-4bit", "the same in 4 bits (NF4)");
}

/** --compute-dtype: the type of both sides of matrix products. */
export function computeDtype(): Option {
  return new Option(
    "--compute-dtype <type>",
    "bfloat16, float16: products round both sides, as the key of training (default float32)",
  ).choices(["float32", "bfloat16", "float16"]);
}

/** Where and how a model computes: --device, --threads, --no-native and --compute-dtype. */
export function addDeviceFlags(command: Command): Command {
  return command
    .addOption(computeDtype())
    .option("--device <name>", "auto, webgpu, vulkan, wasm or reference")
    .option("--threads <n>", "threads of the wasm device", integer(1))
    .option("--no-native", "only WASM kernels on the wasm device (as RGX_NATIVE=0)");
}

/** --activations: how inputs of products with 4-bit weights are represented. */
export function activations(): Option {
  return new Option(
    "--activations <type>",
    "int8: 4-bit weights times rounded inputs, faster and a little less exact (default float32)",
  ).choices(["float32", "int8"]);
}

/** The values of --chat-template-kwargs. @throws UsageError when they are no JSON object */
export function templateValues(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  try {
    const values: unknown = JSON.parse(text);
    if (typeof values === "object" && values !== null && !Array.isArray(values)) {
      return values as Record<string, unknown>;
    }
  } catch {
    // reported below, as other values that are no object
  }
  throw new UsageError(`--chat-template-kwargs ${text}: expected an object as JSON`, {
    advice: `For example --chat-template-kwargs '{"enable_thinking": false}'.`,
  });
}

/** The object without its undefined values. */
export function given<T extends object>(values: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

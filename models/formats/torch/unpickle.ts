/**
 * Reads Python pickles that hold tensors and nothing else. A pickle is a program. This reader knows
 * only the opcodes that plain data and PyTorch's tensors need, and calls only functions that its
 * caller lists. It looks up, imports and runs nothing else: everything else is refused by name.
 */
import { RgxError } from "../../../core/errors.ts";

/** Lists and tuples become arrays, dictionaries become maps. */
export type Pickled =
  | null
  | boolean
  | number
  | bigint
  | string
  | Pickled[]
  | Map<Pickled, Pickled>
  | PickledObject;

/** A global, the result of a listed function, or an object that is only looked at. */
export type PickledObject =
  | { readonly kind: "global"; readonly name: string }
  | PickledInstance
  | { readonly kind: "other"; readonly value: unknown };

/** An object of a class that is not known here: no code of it runs, only its parts are read. */
export interface PickledInstance {
  readonly kind: "instance";
  /** "module name" */
  readonly className: string;
  readonly args: readonly Pickled[];
  /** What it was saved with, or null. */
  state: Pickled;
}

export interface PickleRules {
  /** "module name" → the function that is run when the pickle calls it. */
  readonly calls: ReadonlyMap<string, (args: readonly Pickled[]) => Pickled>;
  /** Globals that may be named but not called. */
  readonly names: ReadonlySet<string>;
  /** Whether objects of this class may be in the pickle, to be looked at; default: of none. */
  readonly mayHold?: (className: string) => boolean;
  persistent(id: Pickled): Pickled;
}

const MARK: unique symbol = Symbol("mark");
type Slot = Pickled | typeof MARK;

/**
 * The value of a pickle.
 * @throws RgxError for what is refused, invalid or incomplete
 */
export function unpickle(
  bytes: Uint8Array,
  rules: PickleRules,
  where: string,
): Pickled {
  const machine = new Machine(bytes, rules, where);
  while (machine.step()) { /* until STOP */ }
  return machine.result();
}

export function isGlobal(
  value: Pickled | undefined,
): value is { readonly kind: "global"; readonly name: string } {
  return isObject(value) && value.kind === "global";
}

export function isInstance(value: Pickled | undefined): value is PickledInstance {
  return isObject(value) && value.kind === "instance";
}

function isObject(value: Pickled | undefined): value is PickledObject {
  return value !== null && typeof value === "object" && "kind" in value;
}

class Machine {
  #at = 0;
  readonly #view: DataView;
  readonly #stack: Slot[] = [];
  readonly #memo = new Map<number, Pickled>();
  readonly #text = new TextDecoder();

  constructor(
    private readonly bytes: Uint8Array,
    private readonly rules: PickleRules,
    private readonly where: string,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  result(): Pickled {
    const value = this.#pop();
    if (this.#stack.length > 0) throw this.#senseless("leaves values behind");
    return value;
  }

  /** What each opcode does; some are followed by a number or a text. */
  readonly #opcodes: Readonly<Record<string, () => void>> = {
    "\x80": () => {
      const protocol = this.#u8();
      if (protocol > 5) throw this.#senseless(`is of protocol ${protocol}`);
    },
    "(": () => this.#stack.push(MARK),
    "N": () => this.#stack.push(null),
    "\x88": () => this.#stack.push(true),
    "\x89": () => this.#stack.push(false),
    "K": () => this.#stack.push(this.#u8()),
    "M": () => this.#stack.push(this.#view.getUint16(this.#take(2), true)),
    "J": () => this.#stack.push(this.#view.getInt32(this.#take(4), true)),
    "\x8a": () => this.#stack.push(this.#long(this.#u8())),
    "G": () => this.#stack.push(this.#view.getFloat64(this.#take(8))),
    "X": () => this.#stack.push(this.#string(this.#u32())),
    "T": () => this.#stack.push(this.#string(this.#u32())),
    "U": () => this.#stack.push(this.#string(this.#u8())),
    "]": () => this.#stack.push([]),
    ")": () => this.#stack.push([]),
    "}": () => this.#stack.push(new Map()),
    "t": () => this.#stack.push(this.#untilMark()),
    "\x85": () => this.#stack.push(this.#popMany(1)),
    "\x86": () => this.#stack.push(this.#popMany(2)),
    "\x87": () => this.#stack.push(this.#popMany(3)),
    "a": () => this.#append([this.#pop()]),
    "e": () => this.#append(this.#untilMark()),
    "s": () => this.#setItems(this.#popMany(2)),
    "u": () => this.#setItems(this.#untilMark()),
    "q": () => this.#remember(this.#u8()),
    "r": () => this.#remember(this.#u32()),
    "h": () => this.#recall(this.#u8()),
    "j": () => this.#recall(this.#u32()),
    "c": () => this.#global(),
    "Q": () => this.#stack.push(this.rules.persistent(this.#pop())),
    "R": () => this.#call(),
    "b": () => this.#build(),
  };

  /** Runs one opcode; false at the end. */
  step(): boolean {
    const opcode = String.fromCharCode(this.#u8());
    if (opcode === ".") return false;
    if (opcode === "\x81" && this.rules.mayHold !== undefined) this.#instance();
    else if (Object.hasOwn(this.#opcodes, opcode)) this.#opcodes[opcode]!();
    else {
      throw new RgxError(
        `${this.where}: the pickle uses opcode 0x${opcode.charCodeAt(0).toString(16)} at byte ` +
          `${this.#at - 1}, which tensors do not need: refused`,
        { advice: "Take the model as safetensors, or convert it in an environment you trust." },
      );
    }
    return true;
  }

  #take(n: number): number {
    const at = this.#at;
    if (at + n > this.bytes.length) throw this.#senseless("ends too early");
    this.#at += n;
    return at;
  }

  #u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  #u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  #string(length: number): string {
    const at = this.#take(length);
    return this.#text.decode(this.bytes.subarray(at, at + length));
  }

  /** A little-endian two's complement integer of any length. */
  #long(length: number): number | bigint {
    const at = this.#take(length);
    let value = 0n;
    for (let i = length - 1; i >= 0; i--) value = value << 8n | BigInt(this.bytes[at + i]!);
    value = BigInt.asIntN(8 * length, value);
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }

  #line(): string {
    const end = this.bytes.indexOf(0x0a, this.#at);
    if (end < 0) throw this.#senseless("ends too early");
    const line = this.#string(end - this.#at);
    this.#at = end + 1;
    return line;
  }

  #pop(): Pickled {
    const value = this.#stack.pop();
    if (value === undefined || value === MARK) throw this.#senseless("takes what is not there");
    return value;
  }

  #popMany(n: number): Pickled[] {
    const values: Pickled[] = [];
    for (let i = 0; i < n; i++) values.unshift(this.#pop());
    return values;
  }

  #untilMark(): Pickled[] {
    const mark = this.#stack.lastIndexOf(MARK);
    if (mark < 0) throw this.#senseless("has no mark where it needs one");
    return this.#stack.splice(mark).slice(1) as Pickled[];
  }

  #append(values: Pickled[]): void {
    const list = this.#pop();
    if (!Array.isArray(list)) throw this.#senseless("appends to what is no list");
    for (const value of values) list.push(value);
    this.#stack.push(list);
  }

  #setItems(values: Pickled[]): void {
    const map = this.#pop();
    if (!(map instanceof Map) || values.length % 2 !== 0) {
      throw this.#senseless("sets items of what is no dictionary");
    }
    for (let i = 0; i < values.length; i += 2) map.set(values[i]!, values[i + 1]!);
    this.#stack.push(map);
  }

  #remember(slot: number): void {
    const value = this.#pop();
    this.#memo.set(slot, value);
    this.#stack.push(value);
  }

  #recall(slot: number): void {
    const value = this.#memo.get(slot);
    if (value === undefined) throw this.#senseless(`recalls value ${slot}, which is not there`);
    this.#stack.push(value);
  }

  #global(): void {
    const name = `${this.#line()} ${this.#line()}`;
    const { calls, names, mayHold } = this.rules;
    if (!calls.has(name) && !names.has(name) && !mayHold?.(name)) {
      throw new RgxError(
        `${this.where}: the pickle names ${JSON.stringify(name.replace(" ", "."))}, which is ` +
          `no part of a tensor: refused`,
        { advice: "Take the model as safetensors, or convert it in an environment you trust." },
      );
    }
    this.#stack.push({ kind: "global", name });
  }

  #call(): void {
    const args = this.#pop(), callee = this.#pop();
    const call = isGlobal(callee) ? this.rules.calls.get(callee.name) : undefined;
    if (call === undefined || !Array.isArray(args)) {
      throw this.#senseless("calls what cannot be called");
    }
    this.#stack.push(call(args));
  }

  #instance(): void {
    const args = this.#pop(), callee = this.#pop();
    if (!isGlobal(callee) || !Array.isArray(args) || !this.rules.mayHold?.(callee.name)) {
      throw this.#senseless("makes an object of what is no class");
    }
    this.#stack.push({ kind: "instance", className: callee.name, args, state: null });
  }

  /** Attributes of a dictionary (a state_dict's "_metadata") do not affect the tensors. */
  #build(): void {
    const state = this.#pop(), object = this.#pop();
    if (isInstance(object)) object.state = state;
    else if (!(object instanceof Map) || !(state instanceof Map)) {
      throw this.#senseless("sets the state of what has none");
    }
    this.#stack.push(object);
  }

  #senseless(what: string): RgxError {
    return new RgxError(
      `${this.where}: the pickle makes no sense: it ${what}, at byte ${this.#at}`,
      {
        advice: "The file is damaged: fetch it again.",
      },
    );
  }
}

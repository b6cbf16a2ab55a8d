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

  /** Runs one opcode; false at the end. */
  step(): boolean {
    const opcode = String.fromCharCode(this.#view.getUint8(this.#take(1)));
    if (opcode === "\x81" && this.rules.mayHold !== undefined) return this.#instance();
    switch (opcode) {
      case ".":
        return false;
      case "\x80": {
        const protocol = this.#u8();
        if (protocol > 5) throw this.#senseless(`is of protocol ${protocol}`);
        return true;
      }
      case "(":
        this.#stack.push(MARK);
        return true;
      case "N":
        return this.#push(null);
      case "\x88":
        return this.#push(true);
      case "\x89":
        return this.#push(false);
      case "K":
        return this.#push(this.#u8());
      case "M":
        return this.#push(this.#view.getUint16(this.#take(2), true));
      case "J":
        return this.#push(this.#view.getInt32(this.#take(4), true));
      case "\x8a":
        return this.#push(this.#long(this.#u8()));
      case "G":
        return this.#push(this.#view.getFloat64(this.#take(8)));
      case "X":
      case "T":
        return this.#push(this.#string(this.#view.getUint32(this.#take(4), true)));
      case "U":
        return this.#push(this.#string(this.#u8()));
      case "]":
      case ")":
        return this.#push([]);
      case "}":
        return this.#push(new Map());
      case "t":
        return this.#push(this.#untilMark());
      case "\x85":
        return this.#push(this.#popMany(1));
      case "\x86":
        return this.#push(this.#popMany(2));
      case "\x87":
        return this.#push(this.#popMany(3));
      case "a":
        return this.#append([this.#pop()]);
      case "e":
        return this.#append(this.#untilMark());
      case "s":
        return this.#setItems(this.#popMany(2));
      case "u":
        return this.#setItems(this.#untilMark());
      case "q":
        return this.#remember(this.#u8());
      case "r":
        return this.#remember(this.#view.getUint32(this.#take(4), true));
      case "h":
        return this.#recall(this.#u8());
      case "j":
        return this.#recall(this.#view.getUint32(this.#take(4), true));
      case "c":
        return this.#global();
      case "Q":
        return this.#push(this.rules.persistent(this.#pop()));
      case "R":
        return this.#call();
      case "b":
        return this.#build();
      default:
        throw new RgxError(
          `${this.where}: the pickle uses opcode 0x${opcode.charCodeAt(0).toString(16)} at byte ` +
            `${this.#at - 1}, which tensors do not need: refused`,
          { advice: "Take the model as safetensors, or convert it in an environment you trust." },
        );
    }
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

  #push(value: Pickled): true {
    this.#stack.push(value);
    return true;
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

  #append(values: Pickled[]): true {
    const list = this.#pop();
    if (!Array.isArray(list)) throw this.#senseless("appends to what is no list");
    for (const value of values) list.push(value);
    return this.#push(list);
  }

  #setItems(values: Pickled[]): true {
    const map = this.#pop();
    if (!(map instanceof Map) || values.length % 2 !== 0) {
      throw this.#senseless("sets items of what is no dictionary");
    }
    for (let i = 0; i < values.length; i += 2) map.set(values[i]!, values[i + 1]!);
    return this.#push(map);
  }

  #remember(slot: number): true {
    const value = this.#pop();
    this.#memo.set(slot, value);
    return this.#push(value);
  }

  #recall(slot: number): true {
    const value = this.#memo.get(slot);
    if (value === undefined) throw this.#senseless(`recalls value ${slot}, which is not there`);
    return this.#push(value);
  }

  #global(): true {
    const name = `${this.#line()} ${this.#line()}`;
    const { calls, names, mayHold } = this.rules;
    if (!calls.has(name) && !names.has(name) && !mayHold?.(name)) {
      throw new RgxError(
        `${this.where}: the pickle names ${JSON.stringify(name.replace(" ", "."))}, which is ` +
          `no part of a tensor: refused`,
        { advice: "Take the model as safetensors, or convert it in an environment you trust." },
      );
    }
    return this.#push({ kind: "global", name });
  }

  #call(): true {
    const args = this.#pop(), callee = this.#pop();
    const call = isGlobal(callee) ? this.rules.calls.get(callee.name) : undefined;
    if (call === undefined || !Array.isArray(args)) {
      throw this.#senseless("calls what cannot be called");
    }
    return this.#push(call(args));
  }

  #instance(): true {
    const args = this.#pop(), callee = this.#pop();
    if (!isGlobal(callee) || !Array.isArray(args) || !this.rules.mayHold?.(callee.name)) {
      throw this.#senseless("makes an object of what is no class");
    }
    return this.#push({ kind: "instance", className: callee.name, args, state: null });
  }

  /** Attributes of a dictionary (a state_dict's "_metadata") do not affect the tensors. */
  #build(): true {
    const state = this.#pop(), object = this.#pop();
    if (isInstance(object)) {
      object.state = state;
      return this.#push(object);
    }
    if (!(object instanceof Map) || !(state instanceof Map)) {
      throw this.#senseless("sets the state of what has none");
    }
    return this.#push(object);
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

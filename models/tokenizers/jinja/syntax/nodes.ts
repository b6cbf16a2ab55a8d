/**
 * The nodes of a parsed template, each with its parts in the order in which they are evaluated.
 * `at` is the offset in the template's text, for messages.
 */
import type { Literal } from "../../../../tasks/python/literals.ts";

export interface Name {
  readonly type: "Name";
  readonly name: string;
}

export interface NewName {
  readonly type: "NewName";
  readonly name: string;
}

/** What `set` and `for` give a value to: a name, a field of a namespace, or several of these. */
export type Target =
  | NewName
  | { readonly type: "Field"; readonly object: Name; readonly field: string }
  | { readonly type: "Targets"; readonly items: readonly Target[] };

/** `(a, b, c=1, *list)` of a call, a filter or a test. */
export interface Arguments {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [name: string, value: Expression])[];
  readonly list: Expression | null;
}

export interface Call {
  readonly type: "Call";
  readonly callee: Expression;
  readonly given: Arguments;
}

export interface Filter {
  readonly type: "Filter";
  /** Null: the text of a block. */
  readonly operand: Expression | null;
  readonly name: string;
  readonly given: Arguments;
}

export type Expression =
  | Name
  | Call
  | Filter
  | { readonly type: "Constant"; readonly value: Literal }
  | { readonly type: "List" | "Tuple"; readonly items: readonly Expression[] }
  | { readonly type: "Dict"; readonly pairs: readonly (readonly [Expression, Expression])[] }
  | { readonly type: "Attribute"; readonly object: Expression; readonly name: string }
  | { readonly type: "Item"; readonly object: Expression; readonly key: Expression }
  /** Start, stop and step; null where one is left out. */
  | {
    readonly type: "Slice";
    readonly object: Expression;
    readonly bounds: readonly (Expression | null)[];
  }
  | { readonly type: "Not"; readonly operand: Expression }
  | { readonly type: "Sign"; readonly operator: "+" | "-"; readonly operand: Expression }
  | {
    readonly type: "And" | "Or";
    readonly left: Expression;
    readonly right: Expression;
  }
  | {
    readonly type: "Arithmetic";
    readonly operator: string;
    readonly left: Expression;
    readonly right: Expression;
  }
  /** `a ~ b ~ c`. */
  | { readonly type: "Concat"; readonly parts: readonly Expression[] }
  /** `a < b <= c`: each neighbours' comparison must hold. */
  | {
    readonly type: "Compare";
    readonly first: Expression;
    readonly rest: readonly (readonly [operator: string, operand: Expression])[];
  }
  | {
    readonly type: "Conditional";
    readonly test: Expression;
    readonly then: Expression;
    readonly otherwise: Expression | null;
  }
  | {
    readonly type: "Test";
    readonly operand: Expression;
    readonly name: string;
    readonly given: Arguments;
  };

/** The parameters of a macro or of a call block; null = one without a default. */
export type Parameters = readonly (readonly [to: NewName, value: Expression | null])[];

/** The function of a macro, or of what a call block gives to its macro. */
interface Function {
  readonly parameters: Parameters;
  readonly body: Block;
}

export type Statement =
  & { readonly at: number }
  & (
    | { readonly type: "Data"; readonly text: string }
    | { readonly type: "Output"; readonly value: Expression }
    | {
      readonly type: "If";
      readonly branches: readonly (readonly [test: Expression, body: Block])[];
      readonly otherwise: Block;
    }
    | {
      readonly type: "For";
      readonly iterable: Expression;
      readonly target: Target;
      readonly test: Expression | null;
      readonly body: Block;
      readonly otherwise: Block;
    }
    | { readonly type: "Set"; readonly value: Expression; readonly target: Target }
    | { readonly type: "SetBlock"; readonly body: Block; readonly target: Target }
    | Function & { readonly type: "Macro"; readonly target: Target; readonly name: string }
    | Function & { readonly type: "CallBlock"; readonly call: Call }
    | { readonly type: "FilterBlock"; readonly filter: Filter; readonly body: Block }
    /** transformers' mark of what the assistant wrote. */
    | { readonly type: "Generation"; readonly body: Block }
    | { readonly type: "Break" | "Continue" }
  );

/** The statement of one type. */
export type StatementOf<Type extends Statement["type"]> = Extract<Statement, { type: Type }>;

export type Block = readonly Statement[];

/** The nodes of a parsed template. `at` is the offset in the template's text, for messages. */
import type { Literal } from "../../../../tasks/python/literals.ts";

export interface Name {
  readonly type: "Name";
  readonly name: string;
}

/** `namespace.field` as what a statement sets. */
export interface Field {
  readonly type: "Field";
  readonly object: Name;
  readonly field: string;
}

export interface TargetTuple {
  readonly type: "Tuple";
  readonly items: readonly Target[];
}

/** What `set`, `for` and `with` give a value to. */
export type Target = Name | Field | TargetTuple;

/** `(a, b, c=1, *list, **dict)` of a call, a filter or a test. */
export interface Arguments {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [name: string, value: Expression])[];
  readonly list: Expression | null;
  readonly dict: Expression | null;
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
  readonly at: number;
}

export interface Test {
  readonly type: "Test";
  readonly operand: Expression;
  readonly name: string;
  readonly given: Arguments;
  readonly at: number;
}

export interface Slice {
  readonly type: "Slice";
  readonly object: Expression;
  /** Start, stop and step; null where one is left out. */
  readonly bounds: readonly (Expression | null)[];
}

export type Expression =
  | Name
  | Call
  | Filter
  | Test
  | Slice
  | { readonly type: "Constant"; readonly value: Literal }
  | { readonly type: "List" | "Tuple"; readonly items: readonly Expression[] }
  | { readonly type: "Dict"; readonly pairs: readonly (readonly [Expression, Expression])[] }
  | { readonly type: "Attribute"; readonly object: Expression; readonly name: string }
  | { readonly type: "Item"; readonly object: Expression; readonly key: Expression }
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
  };

/** The parameters of a macro or of a call block; null = one without a default. */
export type Parameters = readonly (readonly [name: string, value: Expression | null])[];

/** The function of a macro, or of what a call block gives to its macro. */
interface Function {
  readonly parameters: Parameters;
  readonly body: Block;
  /** Which of `caller`, `varargs` and `kwargs` the body reads. */
  readonly special: ReadonlySet<string>;
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
      readonly target: Target;
      readonly iterable: Expression;
      readonly test: Expression | null;
      readonly isRecursive: boolean;
      readonly body: Block;
      readonly otherwise: Block;
    }
    | { readonly type: "Set"; readonly target: Target; readonly value: Expression }
    /** `{% set a | filter %}…{% endset %}`. */
    | {
      readonly type: "SetBlock";
      readonly target: Target;
      readonly filter: Filter | null;
      readonly body: Block;
    }
    | Function & { readonly type: "Macro"; readonly name: string }
    | Function & { readonly type: "CallBlock"; readonly call: Call }
    | { readonly type: "FilterBlock"; readonly filter: Filter; readonly body: Block }
    | {
      readonly type: "With";
      readonly values: readonly (readonly [Target, Expression])[];
      readonly body: Block;
    }
    /** transformers' mark of what the assistant wrote. */
    | { readonly type: "Generation"; readonly body: Block }
    | { readonly type: "Break" | "Continue" }
  );

/** The statement of one type. */
export type StatementOf<Type extends Statement["type"]> = Extract<Statement, { type: Type }>;

export type Block = readonly Statement[];

/** The nodes of a parsed template, as the library's parser gives them. */

interface Token {
  readonly value: string;
}

export interface Name {
  readonly type: "Identifier";
  readonly value: string;
}

export interface KeywordArgument {
  readonly type: "KeywordArgumentExpression";
  readonly key: Name;
  readonly value: Node;
}

export interface CallNode {
  readonly type: "CallExpression";
  readonly callee: Node;
  readonly args: readonly Node[];
}

export interface SliceNode {
  readonly type: "SliceExpression";
  readonly start?: Node;
  readonly stop?: Node;
  readonly step?: Node;
}

export interface ForNode {
  readonly type: "For";
  readonly loopvar: Node;
  readonly iterable: Node;
  readonly body: readonly Node[];
  readonly defaultBlock: readonly Node[];
}

export interface MacroNode {
  readonly type: "Macro";
  readonly name: Name;
  readonly args: readonly (Name | KeywordArgument)[];
  readonly body: readonly Node[];
}

export interface SetNode {
  readonly type: "Set";
  readonly assignee: Node;
  readonly value: Node | null;
  readonly body: readonly Node[];
}

export type Node =
  | Name
  | KeywordArgument
  | CallNode
  | SliceNode
  | ForNode
  | MacroNode
  | SetNode
  | { readonly type: "Program"; readonly body: readonly Node[] }
  | {
    readonly type: "If";
    readonly test: Node;
    readonly body: readonly Node[];
    readonly alternate: readonly Node[];
  }
  | { readonly type: "Break" | "Continue" | "Comment" }
  | {
    readonly type: "CallStatement";
    readonly call: CallNode;
    readonly callerArgs: MacroNode["args"] | null;
    readonly body: readonly Node[];
  }
  | {
    readonly type: "FilterStatement";
    readonly filter: Name | CallNode;
    readonly body: readonly Node[];
  }
  | {
    readonly type: "MemberExpression";
    readonly object: Node;
    readonly property: Node;
    readonly computed: boolean;
  }
  | { readonly type: "IntegerLiteral" | "FloatLiteral"; readonly value: number }
  | { readonly type: "StringLiteral"; readonly value: string }
  | { readonly type: "ArrayLiteral" | "TupleLiteral"; readonly value: readonly Node[] }
  | { readonly type: "ObjectLiteral"; readonly value: ReadonlyMap<Node, Node> }
  | {
    readonly type: "BinaryExpression";
    readonly operator: Token;
    readonly left: Node;
    readonly right: Node;
  }
  | { readonly type: "UnaryExpression"; readonly operator: Token; readonly argument: Node }
  | {
    readonly type: "FilterExpression";
    readonly operand: Node;
    readonly filter: Name | CallNode;
  }
  | {
    readonly type: "TestExpression";
    readonly operand: Node;
    readonly negate: boolean;
    readonly test: Name;
  }
  | { readonly type: "SelectExpression"; readonly lhs: Node; readonly test: Node }
  | {
    readonly type: "Ternary";
    readonly condition: Node;
    readonly trueExpr: Node;
    readonly falseExpr: Node;
  }
  | { readonly type: "SpreadExpression" | "KeywordSpreadExpression"; readonly argument: Node };

/**
 * A rule for `deno lint`: a literal is not spread into another literal.
 *
 * `{ a: 1, ...{ a: 2 } }` hides a duplicate field from the type check, and `[x, ...[y, z]]` says
 * `[x, y, z]` in a longer way. A literal behind a condition (`...(x ? { a } : {})`) is allowed.
 */
const LITERALS = ["ObjectExpression", "ArrayExpression"];

export default {
  name: "rgx",
  rules: {
    "no-spread-of-literal": {
      create(context) {
        return {
          SpreadElement(node) {
            if (![node.argument, node.parent].every(({ type }) => LITERALS.includes(type))) return;
            context.report({
              node,
              message: "A literal is spread into a literal.",
              hint: "Write its fields or elements where the spread stands.",
            });
          },
        };
      },
    },
  },
} satisfies Deno.lint.Plugin;

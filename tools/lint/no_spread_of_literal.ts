/**
 * A rule for `deno lint`: a literal is not spread into another literal, nor into arguments.
 *
 * `{ a: 1, ...{ a: 2 } }` hides a duplicate field from the type check, and `[x, ...[y, z]]` says
 * `[x, y, z]` in a longer way. A literal behind a condition (`...(x ? { a } : {})`) is allowed.
 */
const LITERALS = ["ObjectExpression", "ArrayExpression"];
const PARENTS = [...LITERALS, "CallExpression", "NewExpression"];

export default {
  name: "rgx",
  rules: {
    "no-spread-of-literal": {
      create(context) {
        return {
          SpreadElement(node) {
            if (!LITERALS.includes(node.argument.type) || !PARENTS.includes(node.parent.type)) {
              return;
            }
            context.report({
              node,
              message: "A literal is spread.",
              hint: "Write its fields or elements where the spread stands.",
            });
          },
        };
      },
    },
  },
} satisfies Deno.lint.Plugin;

/** Post-processors: the tokens that a tokenizer puts before and after the tokens of a text. */
import { fieldsOf, NotSupported } from "./component.ts";

/** Ids, or contents of tokens whose ids the file does not repeat. */
export interface Surroundings {
  before: readonly (number | string)[];
  after: readonly (number | string)[];
}

const NOTHING: Surroundings = { before: [], after: [] };

/**
 * @param json the component of a `tokenizer.json`
 * @throws Error for an unknown kind, and for one that is not as it should be; NotSupported
 */
export function surroundingsOf(json: unknown): Surroundings {
  if (json === null || json === undefined) return NOTHING;
  const part = fieldsOf(json), { type } = part;
  switch (type) {
    case "TemplateProcessing":
      return template(part["single"], fieldsOf(part["special_tokens"]));
    case "ByteLevel":
      return NOTHING;
    case "BertProcessing":
    case "RobertaProcessing":
      return { before: [pairId(part["cls"])], after: [pairId(part["sep"])] };
    case "Sequence":
      return sequence(part["processors"]);
    default:
      throw new Error(`Unknown PostProcessor type: ${String(type)}`);
  }
}

function sequence(parts: unknown): Surroundings {
  if (!Array.isArray(parts)) throw new Error("a Sequence of post_processors without any");
  const adding = parts.map(surroundingsOf)
    .filter(({ before, after }) => before.length + after.length > 0);
  if (adding.length > 1) {
    throw new NotSupported("a Sequence of post_processors of which several add tokens");
  }
  return adding[0] ?? NOTHING;
}

/** The id of a pair [token, id], or else its token. */
function pairId(pair: unknown): number | string {
  const [token, id] = Array.isArray(pair) ? pair as unknown[] : [];
  if (Number.isInteger(id)) return id as number;
  if (typeof token === "string") return token;
  throw new Error("a post_processor without its tokens");
}

/** @param special by names: the ids that a special token of the template stands for */
function template(
  single: unknown,
  special: Readonly<Record<string, unknown>>,
): Surroundings {
  if (!Array.isArray(single)) throw new Error("a TemplateProcessing without a template");
  const before: (number | string)[] = [], after: (number | string)[] = [];
  let texts = 0;
  for (const piece of single) {
    const { SpecialToken: token, Sequence: text } = fieldsOf(piece);
    if (token !== undefined) {
      const name = fieldsOf(token)["id"];
      if (typeof name !== "string") throw new Error("a special token without a name");
      const { ids } = fieldsOf(Object.hasOwn(special, name) ? special[name] : null);
      const side = texts === 0 ? before : after;
      if (Array.isArray(ids) && ids.every(Number.isInteger)) side.push(...ids);
      else side.push(name);
    } else if (fieldsOf(text)["id"] === "A") texts++;
    else throw new Error("a TemplateProcessing with a piece of an unknown kind");
  }
  if (texts !== 1) throw new Error(`a TemplateProcessing that holds the text ${texts} times`);
  return { before, after };
}

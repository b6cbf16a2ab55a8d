/**
 * The fields of a request that hold its answers to a form: `response_format` of OpenAI, and
 * `structured_outputs` and `guided_…` of vLLM.
 */
import { UsageError } from "../core/errors.ts";
import { keptConstraint } from "../models/grammar/kept_constraints.ts";
import type { Form, TokenConstraint } from "../models/grammar/token_constraint.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import { badRequest } from "./api_error.ts";
import type { Fields } from "./fields.ts";

const MAX_CHOICES = 1000;

/** A form, and the field that asks for it. */
interface Asked {
  form: Form;
  param: string;
}

/** Null = answers are free. @throws ApiError for a form that is wrong or not supported */
export function constraintOf(
  fields: Fields,
  tokenizer: Tokenizer,
  vocabSize: number,
): TokenConstraint | null {
  const all = [...responseFormat(fields), ...structuredOutputs(fields), ...guided(fields)];
  const [asked, other] = all;
  if (asked === undefined) return null;
  const { form, param } = asked;
  if (other !== undefined) {
    throw badRequest(`${param} and ${other.param} exclude each other`, param);
  }
  try {
    return keptConstraint(form, tokenizer, vocabSize);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { message, advice } = error;
    throw badRequest(`${param}: ${message}${advice === undefined ? "" : ` (${advice})`}`, param);
  }
}

function responseFormat(fields: Fields): Asked[] {
  const format = fields.object("response_format"), param = "response_format";
  if (format === undefined) return [];
  const type = format.string("type") ?? "text";
  if (type === "text") return [];
  if (type === "json_object") return [{ form: { kind: "object" }, param }];
  if (type !== "json_schema") throw format.wrong("type", "text, json_object or json_schema");
  const described = format.object("json_schema");
  if (described === undefined) throw format.wrong("json_schema", "an object");
  // `strict` makes no difference: answers are always held to the schema.
  described.boolean("strict", false);
  const schema = described.raw("schema");
  if (schema === undefined) throw described.wrong("schema", "a JSON schema");
  return [{ form: { kind: "schema", schema }, param }];
}

/** The field of vLLM from 0.12 on. */
function structuredOutputs(fields: Fields): Asked[] {
  const param = "structured_outputs", given = fields.object(param);
  if (given === undefined) return [];
  for (const name of ["grammar", "structural_tag"]) given.refuse(name, "use json, regex or choice");
  const forms = formsOf(given, "json", "regex", "choice");
  if (given.boolean("json_object", false)) forms.push({ kind: "object" });
  if (forms.length !== 1) {
    throw badRequest(`${param}: expected one of json, json_object, regex and choice`, param);
  }
  return [{ form: forms[0]!, param }];
}

/** The older fields of vLLM. */
function guided(fields: Fields): Asked[] {
  fields.refuse("guided_grammar", "use guided_json, guided_regex or guided_choice");
  return formsOf(fields, "guided_json", "guided_regex", "guided_choice")
    .map((form) => ({ form, param: `guided_${form.kind === "schema" ? "json" : form.kind}` }));
}

function formsOf(fields: Fields, json: string, regex: string, choice: string): Form[] {
  const forms: Form[] = [];
  if (fields.has(json)) {
    const schema = fields.raw(json);
    forms.push({
      kind: "schema",
      schema: typeof schema === "string" ? parsed(fields, json) : schema,
    });
  }
  const pattern = fields.string(regex);
  if (pattern !== undefined) forms.push({ kind: "regex", pattern });
  if (fields.has(choice)) {
    const choices = fields.strings(choice);
    if (choices.length === 0 || choices.length > MAX_CHOICES || choices.includes("")) {
      throw fields.wrong(choice, `1 to ${MAX_CHOICES} texts that are not empty`);
    }
    forms.push({ kind: "choice", choices });
  }
  return forms;
}

function parsed(fields: Fields, name: string): unknown {
  try {
    return JSON.parse(fields.string(name)!);
  } catch {
    throw fields.wrong(name, "a JSON schema");
  }
}

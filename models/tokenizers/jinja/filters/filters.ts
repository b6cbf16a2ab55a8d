/** Jinja's filters: what may stand after `|`. A filter that is not here is an error. */
import { didYouMean } from "../../../../core/suggest.ts";
import { Endless, MAX_TAKEN_APART } from "../budget.ts";
import { bind } from "../call.ts";
import { FILTER_NAMES, type FilterName, isFilterName } from "../filter_names.ts";
import { ownAttribute } from "../methods.ts";
import { keyAt } from "./attributes.ts";
import { HTML_FILTERS } from "./html_filters.ts";
import { LIST_FILTERS } from "./list_filters.ts";
import { absolute, fileSize, rounded, toFloat, toInt } from "./number_filters.ts";
import { TEXT_FILTERS } from "./text_filters.ts";
import { toJson } from "./to_json.ts";
import {
  type Call,
  isTrue,
  iterate,
  Lazy,
  Markup,
  str,
  text,
  Undefined,
  type Value,
} from "../values.ts";

type Filter = (value: Value, given: Call) => Value;

/** These make a value of each character or word of a text. */
const TAKES_APART: ReadonlySet<FilterName> = new Set(
  ["batch", "groupby", "max", "min", "slice", "sort", "title", "unique", "wordwrap"],
);

/**
 * @throws Error for a filter that is not known here, or for arguments that it does not take
 * @throws Endless for a text that would take seconds
 */
export function runFilter(name: string, value: Value, given: Call): Value {
  if (isFilterName(name)) {
    const isText = typeof value === "string" || value instanceof Markup;
    if (isText && TAKES_APART.has(name) && str(value).length > MAX_TAKEN_APART) {
      throw new Endless(`${name} gets a text of more than ${MAX_TAKEN_APART} characters`);
    }
    return FILTERS[name](value, given);
  }
  throw new Error(`there is no filter ${name}${didYouMean(name, FILTER_NAMES)}`);
}

/** `map("filter", …)`, or `map(attribute="name", default=…)`. */
function* mapped(value: Value, given: Call): Generator<Value> {
  if (!isTrue(value)) return;
  const work = mapping(given);
  for (const one of iterate(value)) yield work(one);
}

function mapping({ positional: [name, ...positional], named }: Call): (value: Value) => Value {
  if (name === undefined) {
    const given = { positional: [], named };
    const [attribute, other] = bind("map", given, ["attribute", "default"], 1);
    return keyAt(attribute, other);
  }
  const filter = text(name, "the name of a filter");
  return (one) => runFilter(filter, one, { positional, named });
}

function defaulted(value: Value, given: Call): Value {
  const [other = "", onFalse = false] = bind("default", given, ["default_value", "boolean"]);
  return value instanceof Undefined || (isTrue(onFalse) && !isTrue(value)) ? other : value;
}

function refused(reason: string): Filter {
  return () => {
    throw new Error(reason);
  };
}

const FILTERS: Readonly<Record<FilterName, Filter>> = {
  ...TEXT_FILTERS,
  ...LIST_FILTERS,
  ...HTML_FILTERS,
  abs: absolute,
  round: rounded,
  int: toInt,
  float: toFloat,
  filesizeformat: fileSize,
  default: defaulted,
  d: defaulted,
  map: (value, given) => new Lazy(mapped(value, given)),
  tojson: toJson,
  attr: (value, given) => {
    const name = text(bind("attr", given, ["name"], 1)[0]!, "attr's name");
    if (value instanceof Undefined) {
      throw new Error(`${value.what} is undefined: it has no ${name}`);
    }
    return ownAttribute(value, name) ?? new Undefined(name);
  },
  random: refused("the filter random is not supported: a prompt would differ from call to call"),
  urlize: refused("the filter urlize is not supported: it writes HTML"),
};

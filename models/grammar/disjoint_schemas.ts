/** Whether two schemas have no value in common, as far as their types and constants tell. */

type Schema = Readonly<Record<string, unknown>>;

const ALL_TYPES = ["object", "array", "string", "number", "boolean", "null"];

/**
 * @param resolve gives the schema that a schema refers to
 * @returns false also when it is not known
 */
export function areDisjoint(
  a: unknown,
  b: unknown,
  resolve: (schema: unknown) => unknown,
  depth = 0,
): boolean {
  const [one, other] = [resolve(a), resolve(b)];
  if (!isRecord(one) || !isRecord(other) || depth > 8) return false;
  const values = valuesOf(one), others = valuesOf(other);
  if (values !== null && others !== null) return values.isDisjointFrom(others);
  const types = typesOf(one), otherTypes = typesOf(other);
  const common = types.filter((type) => otherTypes.includes(type));
  if (common.length === 0) return true;
  if (common.some((type) => type !== "object")) return false;
  // Two objects differ when a property that both must have differs.
  const properties = one["properties"], otherProperties = other["properties"];
  if (!isRecord(properties) || !isRecord(otherProperties)) return false;
  return requiredOf(one).some((name) =>
    requiredOf(other).includes(name) &&
    areDisjoint(properties[name], otherProperties[name], resolve, depth + 1)
  );
}

/** A schema of many is compared with all others. */
const knownValues = new WeakMap<Schema, Set<string>>();

/** The values of a constant or a choice, as JSON. */
function valuesOf(schema: Schema): Set<string> | null {
  const choice = "const" in schema ? [schema["const"]] : schema["enum"];
  if (!Array.isArray(choice)) return null;
  let values = knownValues.get(schema);
  if (values === undefined) {
    values = new Set(choice.map((value) => JSON.stringify(value)));
    knownValues.set(schema, values);
  }
  return values;
}

function typesOf(schema: Schema): readonly string[] {
  const { type } = schema, values = valuesOf(schema);
  if (values !== null) return [...values].map((value) => typeOfValue(JSON.parse(value)));
  if (type === undefined || schema["nullable"] === true) return ALL_TYPES;
  return (Array.isArray(type) ? type : [type]).map((one) => one === "integer" ? "number" : one);
}

function typeOfValue(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function requiredOf({ required }: Schema): string[] {
  return Array.isArray(required) ? required : [];
}

function isRecord(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

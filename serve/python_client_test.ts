/**
 * Opt-in: OpenAI's client for Python calls tools. RGX_TEST_PYTHON names a Python with that package
 * (pip install openai).
 */
import assert from "node:assert/strict";
import { familyTokenizer } from "../models/tokenizers/dialects/dialect_testing.ts";
import { NEEDED, needs } from "../tests/skipped.ts";
import { say, withServer } from "./testing.ts";

const python = Deno.env.get("RGX_TEST_PYTHON");

async function hasPackage(): Promise<boolean> {
  if (python === undefined) return false;
  const args = ["-c", "import importlib.util as u; exit(u.find_spec('openai') is None)"];
  return (await new Deno.Command(python, { args, stderr: "null" }).output()).success;
}

const CODE = `
import json, sys
from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel

class multiply(BaseModel):
    a: int
    b: int

client = OpenAI(base_url=sys.argv[1] + "/v1", api_key="any", max_retries=0)
asked = dict(model="base", messages=[{"role": "user", "content": "3 times 4?"}])
tools = [pydantic_function_tool(multiply)]
parsed = client.chat.completions.parse(**asked, tools=tools)
call = parsed.choices[0].message.tool_calls[0].function.parsed_arguments
with client.chat.completions.stream(**asked, tools=tools) as stream:
    done = [e.arguments for e in stream if e.type == "tool_calls.function.arguments.done"]
    finish = stream.get_final_completion().choices[0].finish_reason
function = dict(type="function", name="multiply", parameters=multiply.model_json_schema())
response = client.responses.create(model="base", input="3 times 4?", tools=[function])
with client.responses.stream(model="base", input="3 times 4?", tools=[function]) as stream:
    text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
    final = stream.get_final_response()
again = response.output + [dict(
    type="function_call_output", call_id=response.output[-1].call_id, output="12",
)]
more = client.responses.create(model="base", input=again, tools=[function])
print(json.dumps([
    call.a * call.b, done, finish, text,
    [item.type for item in response.output], [item.type for item in final.output], more.status,
]))
`;

Deno.test({
  name: "OpenAI's client for Python calls tools in chats and responses, whole and streamed",
  ignore: needs(
    await hasPackage(),
    python === undefined ? NEEDED.python : `${python} has no openai`,
  ),
  fn: () =>
    withServer(
      async ({ url, host }) => {
        const call = '{"name": "multiply", "arguments": {"a": 3, "b": "4"}}';
        say(host, `I see.\n<tool_call>\n${call}\n</tool_call><|im_end|>`);
        const { stdout, stderr } = await new Deno.Command(python!, { args: ["-c", CODE, url] })
          .output();
        const printed = new TextDecoder().decode(stdout), items = ["message", "function_call"];
        assert.ok(printed !== "", new TextDecoder().decode(stderr));
        const finish = "tool_calls", args = '{"a":3,"b":4}';
        assert.deepEqual(
          JSON.parse(printed),
          [12, [args], finish, "I see.", items, items, "completed"],
        );
      },
      { tokenizer: familyTokenizer("qwen3") },
    ),
});

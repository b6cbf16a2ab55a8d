/**
 * How the families of models call tools: what tells a family by its chat template, and the response
 * template that reads its answers. Patterns are Python's, as in files of models.
 */

export interface Family {
  /** vLLM's name of its parser, where it has one. */
  name: string;
  /** Texts of which all stand in its chat templates. */
  marks: readonly string[];
  template: Record<string, unknown>;
  /** Tokens that end a turn beside the tokenizer's end of text. */
  stops?: readonly string[];
  /** How a call is written that is held to a schema; without it, as a list in JSON. */
  written?: Written;
}

/** The texts around the parts of written calls. */
export interface Written {
  /** Before the first call. It stands in the prompt, so it may have special tokens. */
  begin: string;
  /** The same where the model writes it. */
  first: string;
  /** Before the name, between name and arguments, and after them. */
  call: readonly [string, string, string];
  /** Between two calls; null = there is only one. */
  between: string | null;
  /** After the last one. */
  end: string;
}

const THOUGHT = { open: "<think>", close_pattern: "</think>\\s*", content: "text" };
const CALL = { type: "function", function: { name: "{name}", arguments: "{content}" } };
/** Of a list of calls, each with its name. */
const LISTED = {
  transform_each: true,
  transform: { type: "function", function: { name: "{name}", arguments: "{arguments}" } },
};
const CHATML = "<|im_start|>assistant\n";
const CHATML_CONTENT = { close_pattern: "<\\|im_end\\|>\\s*", content: "text" };

/** How a model writes calls that it must make, whose own form a grammar cannot hold it to. */
export const JSON_LIST: Written = {
  begin: "",
  first: "[",
  call: ['{"name": "', '", "arguments": ', "}"],
  between: ", ",
  end: "]",
};

/** Nothing stands around all calls. */
const ALONE = { begin: "", first: "", end: "" };

export const JSON_LIST_TEMPLATE = {
  start_anchor: CHATML,
  fields: {
    tool_calls: {
      open_pattern: "(?=\\[)",
      content: "json",
      ...LISTED,
    },
  },
};

/** Of several that fit a chat template, the first one is taken. */
export const FAMILIES: readonly Family[] = [
  {
    name: "gemma4",
    marks: ["<|tool_call>call:"],
    template: {
      start_anchor_pattern: "<\\|turn>model\\n|<tool_response\\|>",
      fields: {
        reasoning_content: {
          open: "<|channel>thought\n",
          close_pattern: "<channel\\|>\\s*",
          content: "text",
        },
        tool_calls: {
          open_pattern: "<\\|tool_call>call:(?P<name>\\w+)",
          close_pattern: "<tool_call\\|>\\s*",
          repeats: true,
          content: "json",
          content_args: { string_delims: [['<|"|>', '<|"|>']], unquoted_keys: true },
          transform: CALL,
        },
        content: {
          close_pattern: "(?:<turn\\|>|<\\|tool_response>|<eos>)\\s*|$",
          content: "text",
        },
      },
    },
    stops: ["<turn|>", "<|tool_response>"],
  },
  {
    name: "openai",
    marks: ["<|channel|>", "functions."],
    template: {
      start_anchor: "<|start|>assistant",
      fields: {
        thinking: {
          open: "<|channel|>analysis<|message|>",
          close_pattern: "<\\|end\\|>\\s*",
          content: "text",
        },
        // What it says before a call stands in the channel of calls.
        content: {
          open: ["<|channel|>final<|message|>", "<|channel|>commentary<|message|>"],
          close_pattern: "(?:<\\|return\\|>|<\\|end\\|>)\\s*",
          content: "text",
        },
        // The receiver stands before the channel, or after it as in OpenAI's description.
        tool_calls: {
          open_pattern: "(?:<\\|channel\\|>commentary\\s+to=functions\\.|to=functions\\.)" +
            "(?P<name>[^\\s<]+)(?:<\\|channel\\|>commentary)?\\s*(?:<\\|constrain\\|>)?json" +
            "<\\|message\\|>",
          close_pattern: "<\\|call\\|>\\s*",
          repeats: true,
          content: "json",
          transform: CALL,
        },
      },
    },
    stops: ["<|return|>", "<|call|>"],
  },
  {
    name: "qwen3_xml",
    marks: ["<function=", "<parameter="],
    template: {
      start_anchor: CHATML,
      fields: {
        reasoning_content: THOUGHT,
        tool_calls: {
          open_pattern: "<tool_call>\\s*<function=(?P<name>[^\\n>]+)>",
          close_pattern: "</tool_call>\\s*",
          repeats: true,
          content: "xml-inline",
          content_args: {
            tag_pattern: "<parameter=(?P<key>[^>\\n]+)>\\s*(?P<value>.*?)\\s*</parameter>",
            value_parser: { name: "text" },
          },
          transform: CALL,
        },
        content: CHATML_CONTENT,
      },
    },
  },
  {
    name: "glm45",
    marks: ["<arg_key>", "<|observation|>"],
    template: {
      start_anchor: "<|assistant|>",
      fields: {
        reasoning_content: THOUGHT,
        tool_calls: {
          open_pattern: "<tool_call>(?P<name>[^\\s<]+)\\n?",
          close_pattern: "</tool_call>\\s*",
          repeats: true,
          content: "xml-inline",
          content_args: {
            tag_pattern:
              "<arg_key>(?P<key>[^<]+)</arg_key>\\s*<arg_value>(?P<value>.*?)</arg_value>",
            value_parser: { name: "text" },
          },
          transform: CALL,
        },
        content: { close_pattern: "<\\|(?:user|observation)\\|>\\s*|$", content: "text" },
      },
    },
    stops: ["<|user|>", "<|observation|>"],
  },
  {
    name: "lfm2",
    marks: ["<|tool_call_start|>"],
    template: {
      start_anchor: CHATML,
      fields: {
        thinking: THOUGHT,
        tool_calls: {
          open: "<|tool_call_start|>",
          close_pattern: "<\\|tool_call_end\\|>\\s*",
          repeats: true,
          content: "python-calls",
          ...LISTED,
        },
        content: CHATML_CONTENT,
      },
    },
  },
  {
    // From Mistral's version 11 on each call begins with its name.
    name: "mistral",
    marks: ["[TOOL_CALLS]", "[ARGS]"],
    template: {
      start_anchor_pattern: "\\[/INST\\]|\\[/TOOL_RESULTS\\]",
      fields: {
        reasoning_content: { open: "[THINK]", close_pattern: "\\[/THINK\\]\\s*", content: "text" },
        tool_calls: {
          open_pattern: "\\[TOOL_CALLS\\](?P<name>[^\\[\\s{]+)(?:\\[CALL_ID\\]\\w+)?\\[ARGS\\]",
          close_pattern: "(?=\\[TOOL_CALLS\\])|</s>",
          repeats: true,
          content: "json",
          transform: CALL,
        },
        content: { close: "</s>", content: "text" },
      },
    },
  },
  {
    name: "mistral",
    marks: ["[TOOL_CALLS]"],
    template: {
      start_anchor_pattern: "\\[/INST\\]|\\[/TOOL_RESULTS\\]",
      fields: {
        tool_calls: {
          open: "[TOOL_CALLS]",
          close: "</s>",
          repeats: true,
          content: "json",
          ...LISTED,
        },
        content: { close: "</s>", content: "text" },
      },
    },
    written: { ...JSON_LIST, begin: "[TOOL_CALLS]" },
  },
  {
    name: "llama3_json",
    marks: ["<|eot_id|>", '"parameters"'],
    template: {
      start_anchor: "<|start_header_id|>assistant<|end_header_id|>\n\n",
      fields: {
        tool_calls: {
          open_pattern: '(?:<\\|python_tag\\|>\\{"name":|\\{"name":)\\s*"(?P<name>[^"]+)",\\s*' +
            '"parameters":\\s*',
          close_pattern: "\\}\\s*(?:<\\|eot_id\\|>|<\\|eom_id\\|>)\\s*",
          repeats: true,
          content: "json",
          transform: CALL,
        },
        content: { close_pattern: "<\\|eot_id\\|>\\s*", content: "text" },
      },
    },
    stops: ["<|eot_id|>", "<|eom_id|>"],
    written: { ...ALONE, call: ['{"name": "', '", "parameters": ', "}"], between: null },
  },
  {
    name: "hermes",
    marks: ["<tool_call>"],
    template: {
      start_anchor: CHATML,
      fields: {
        reasoning_content: THOUGHT,
        tool_calls: {
          open: "<tool_call>",
          close_pattern: "</tool_call>\\s*",
          repeats: true,
          content: "json",
          transform: { type: "function", function: "{content}" },
        },
        content: CHATML_CONTENT,
      },
    },
    written: {
      ...ALONE,
      call: ['<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>"],
      between: "\n",
    },
  },
  {
    // Other models: only a thought is told from the answer.
    name: "plain",
    marks: [],
    template: {
      start_anchor: CHATML,
      fields: {
        reasoning_content: THOUGHT,
        content: CHATML_CONTENT,
      },
    },
  },
];

//! Translates WGSL to SPIR-V with naga, for WebAssembly without glue code. The host asks for memory
//! with `reserve`, writes the text there, calls `translate`, and reads `output` (see naga.ts).
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::cell::RefCell;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Memory for a text of `bytes` bytes, until the next call.
#[no_mangle]
pub extern "C" fn reserve(bytes: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(bytes, 0);
        input.as_mut_ptr()
    })
}

/// The result of the last `translate`: SPIR-V words, or the text of an error.
#[no_mangle]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// Bounds loops, and every index into arrays of a thread or a workgroup, like a browser does.
const CHECKED: u32 = 1;
/// Bounds every index into a buffer, for drivers without robust access.
const CHECKED_BUFFERS: u32 = 2;

/// Translates the text in the reserved memory; `flags` are the constants above. Returns the bytes
/// of the result, negative for an error.
#[no_mangle]
pub extern "C" fn translate(flags: u32) -> i32 {
    let result = INPUT.with_borrow(|input| match std::str::from_utf8(input) {
        Ok(text) => words(text, flags),
        Err(error) => Err(error.to_string()),
    });
    let (bytes, sign) = match result {
        Ok(words) => (words.iter().flat_map(|word| word.to_le_bytes()).collect(), 1),
        Err(text) => (text.into_bytes(), -1),
    };
    let length = bytes.len() as i32;
    OUTPUT.set(bytes);
    sign * length
}

fn words(text: &str, flags: u32) -> Result<Vec<u32>, String> {
    let capabilities = Capabilities::all();
    let options = naga::front::wgsl::Options { parse_doc_comments: false, capabilities };
    let module = naga::front::wgsl::Frontend::new_with_options(options)
        .parse(text)
        .map_err(|error| error.emit_to_string(text))?;
    let info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .map_err(|error| error.emit_to_string(text))?;
    let policy = |flag: u32| {
        if flags & flag == 0 { BoundsCheckPolicy::Unchecked } else { BoundsCheckPolicy::Restrict }
    };
    let options = spv::Options {
        lang_version: (1, 6),
        flags: spv::WriterFlags::empty(),
        force_loop_bounding: flags & CHECKED != 0,
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::Native,
        bounds_check_policies: BoundsCheckPolicies {
            index: policy(CHECKED),
            buffer: policy(CHECKED_BUFFERS),
            image_load: BoundsCheckPolicy::Unchecked,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        ..Default::default()
    };
    spv::write_vec(&module, &info, &options, None).map_err(|error| error.to_string())
}

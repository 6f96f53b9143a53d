//! Tests deep stacks, every kind of frame, and names that an HTML page must show as plain text.

use mehari_profile::{output, Profile, Sampler, SamplingPlan};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

fn sampled(program: &str) -> Profile {
    sampled_beside(program, &[])
}

/// Samples a program and these processes.
fn sampled_beside(program: &str, others: &[u32]) -> Profile {
    let file = format!("{}/tests/perl/{program}", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("perl");
    let mut child = command
        .arg(file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("perl runs");
    let mut output = BufReader::new(child.stdout.take().expect("it was piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    let plan = SamplingPlan {
        duration: Duration::from_millis(500),
        rate: 100.0,
        ..SamplingPlan::default()
    };
    let pids = [others, &[child.id()]].concat();
    let sampler = Sampler::new(&pids).expect("a perl");
    let profile = sampler.run(&plan, &mut Vec::new, &|| false);
    child.kill().expect("it lives");
    child.wait().expect("its end");
    profile
}

#[test]
fn stack_of_two_hundred_frames_has_every_kind_of_frame() {
    let profile = sampled("deep.pl");
    let last = profile.observations.last().expect("a look");
    let frames = profile.stacks[last.stack as usize].iter();
    let names: Vec<&str> = frames
        .map(|&frame| &*profile.frames[frame as usize].name)
        .collect();
    let deep = names.iter().filter(|name| **name == "main::deep").count();
    assert_eq!(deep, 201, "{names:?}");
    assert_eq!(names[0], "(main program)");
    let after: Vec<&str> = names[202..].to_vec();
    assert_eq!(
        after,
        [
            "(eval of a text)",
            "(sort block)",
            "main::compared",
            "main::__ANON__[deep.pl:8]",
            "main::<img src=x onerror=\"alert(1)\">",
            "main::größe",
            "main::wait_here",
            "CORE::select",
            "wait: sleep",
        ]
    );
    assert!(!last.is_running);
}

#[test]
fn process_that_waits_is_read_once() {
    let profile = sampled("deep.pl");
    let (facts, seen) = (&profile.facts, &profile.observations);
    // The first look may come before the program waits.
    assert!(facts.at_rest + 2 >= facts.looks, "{facts:?}");
    assert!(seen.len() > 10, "{seen:?}");
    let last = seen[seen.len() - 1].stack;
    assert!(seen[1..].iter().all(|it| it.stack == last), "{seen:?}");
}

#[test]
fn process_that_has_ended_keeps_no_other_from_being_sampled() {
    let mut gone = Command::new("true").spawn().expect("true runs");
    gone.wait().expect("its end");
    let profile = sampled_beside("deep.pl", &[gone.id()]);
    assert_eq!(profile.facts.processes, 1);
    assert!(!profile.observations.is_empty());
    assert!(Sampler::new(&[gone.id()]).is_err());
}

#[test]
fn name_with_markup_stays_text_in_the_page() {
    let page = output::html(&sampled("deep.pl"));
    assert!(!page.contains("<img"), "{page}");
    assert!(page.contains("&lt;img src=x"), "{page}");
    assert!(page.contains("\\u003cimg src=x"), "{page}");
    assert!(page.contains("default-src 'none'"), "{page}");
}

#[test]
fn formats_of_other_tools_have_every_sample() {
    let profile = sampled("deep.pl");
    let json = output::firefox(&profile).expect("JSON");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let samples = &json["threads"][0]["samples"];
    let stacks = samples["stack"].as_array().expect("a column");
    assert_eq!(stacks.len(), profile.observations.len());
    let packed = output::pprof(&profile).expect("bytes");
    assert_eq!(packed[..2], [0x1f, 0x8b], "gzip");
    let mut plain = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&packed[..]);
    std::io::Read::read_to_end(&mut decoder, &mut plain).expect("gzip");
    let has = |text: &[u8]| plain.windows(text.len()).any(|part| part == text);
    assert!(has("main::größe".as_bytes()) && has(b"nanoseconds"));
}

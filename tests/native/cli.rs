//! The command line, as a reader uses it: its output, its errors for bad input, and that a run
//! stopped by Ctrl-C resumes to the same bits.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hidden_gaussian::denoiser::TABLE;
use serde_json::{Value, json};

/// The runs that are shipped with the page.
const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/www/public/runs");

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_hidden-gaussian"))
}

fn run(args: &[&str]) -> Output {
    program().args(args).output().unwrap()
}

/// The output of a command that succeeds.
fn said(args: &[&str]) -> String {
    let output = run(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn printed_json(args: &[&str]) -> Value {
    serde_json::from_str(&said(args)).unwrap()
}

/// The error of a command that fails.
fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The path of a file for one test.
fn file(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name).to_str().unwrap().to_owned()
}

const SMALL: [&str; 8] = ["train", "--engine", "cpu", "--width", "16", "--batch", "8", "--n"];

#[test]
fn a_run_is_saved_sampled_and_measured() {
    let (saved, sheet, array) = (file("run.safetensors"), file("s.png"), file("s.npy"));
    let trained = printed_json(
        &[&SMALL[..], &["8,40", "--steps", "20", "--rate", "0.01", "--json", "--out", &saved]]
            .concat(),
    );
    assert_eq!(trained["config"]["architecture"]["width"], 16);
    assert_eq!(trained["config"]["steps"], 20);
    assert_eq!(trained["data"]["set"], "faces");
    assert_eq!(trained["progress"]["members"].as_array().unwrap().len(), 2);

    for denoiser in TABLE.iter().map(|entry| entry.id.name()) {
        let args = ["sample", &saved, "--engine", "cpu", "--count", "6", "--denoiser", denoiser];
        said(&[&args[..], &["--out", &sheet, "--out", &array]].concat());
        assert!(fs::read(&sheet).unwrap().starts_with(b"\x89PNG"));
        // Our own importer reads the array: 6 samples of each of 2 networks.
        assert_eq!(printed_json(&["data", "--data", &array, "--json"])["images"], 12);
    }

    let args = ["metrics", &saved, "--engine", "cpu", "--count", "10", "--sigmas", "1,0.4"];
    let measured = printed_json(&[&args[..], &["--json"]].concat());
    let points = measured["points"].as_array().unwrap();
    assert_eq!(points.iter().map(|p| p["n"].as_u64().unwrap()).collect::<Vec<_>>(), [8, 40]);
    assert_eq!(points[0]["denoisers"]["trained"]["linearity"].as_array().unwrap().len(), 2);
    assert!(said(&args).contains("linearity"));
}

#[test]
fn an_experiment_tells_how_it_was_made() {
    let (config, report) = (file("config.json"), file("report.json"));
    let mut small = printed_json(&["transition", "--engine", "cpu", "--show-config"]);
    small["sizes"] = json!([4, 16]);
    small["train"]["steps"] = json!(5);
    small["train"]["architecture"]["width"] = json!(16);
    fs::write(&config, small.to_string()).unwrap();
    let args = ["transition", "--engine", "cpu", "--config", &config, "--out", &report];
    assert_eq!(said(&args).lines().count(), 3, "a heading and two networks");
    let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(report["config"], small);
    assert_eq!(report["experiment"], "transition");
    assert_eq!(report["final"], true);
    assert_eq!(report["data"]["count"], 516);
    assert_eq!(report["sigmas"], small["evaluation"]["sigmas"]);
    assert_eq!(report["findings"].as_array().unwrap().len(), 2);
}

#[test]
fn a_random_seed_is_printed_and_repeats_the_run() {
    let hash = |output: &Output| {
        let described: Value = serde_json::from_slice(&output.stdout).unwrap();
        described["hash"].as_str().unwrap().to_owned()
    };
    let first = run(&["data", "--json", "--seed", "random"]);
    let errors = String::from_utf8(first.stderr.clone()).unwrap();
    let seed = errors.trim().strip_prefix("Seed: ").unwrap();
    assert_eq!(hash(&first), hash(&run(&["data", "--json", "--seed", seed])));
    assert_ne!(hash(&first), hash(&run(&["data", "--json", "--seed", "random"])));
    assert!(refused(&["data", "--seed", "dice"]).contains("a whole number or `random`"));
}

/// Drivers write to standard error; a command without a desktop session must not show that.
#[test]
fn looking_for_a_gpu_prints_nothing_about_the_desktop() {
    let mut check = program();
    let output = check.args(["check", "--engine", "gpu"]).env_remove("XDG_RUNTIME_DIR").output();
    let errors = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(!errors.contains("XDG_RUNTIME_DIR"), "{errors}");
}

/// A small version of an experiment's quick preset, in a file.
fn small_config(experiment: &str) -> String {
    let mut small = printed_json(&[experiment, "--show-config"]);
    small["sizes"] = json!([4, 9]);
    small["train"]["steps"] = json!(5);
    small["train"]["architecture"]["width"] = json!(16);
    small["evaluation"]["samples"] = json!(8);
    small["evaluation"]["images"] = json!(8);
    small["evaluation"]["sigmas"] = json!([1.0, 0.4]);
    let path = file(&format!("{experiment}.json"));
    fs::write(&path, small.to_string()).unwrap();
    path
}

#[test]
fn the_other_experiments_run() {
    for experiment in ["gaussian-bias", "strong-generalization"] {
        let config = small_config(experiment);
        let args = [experiment, "--engine", "cpu", "--config", &config];
        let report = printed_json(&[&args[..], &["--json"]].concat());
        assert_eq!(report["experiment"], experiment);
        assert_eq!(report["findings"].as_array().unwrap().len(), 2, "{experiment}");
        assert!(said(&args).lines().count() >= 3, "a heading and two sizes");
    }
}

#[test]
fn data_are_told_of_and_shown() {
    let sheet = file("faces.png");
    let text = said(&["data", "--sheet", &sheet]);
    assert!(text.starts_with("Faces: 1500 images of 12 × 12"), "{text}");
    assert!(fs::read(&sheet).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn pictures_are_read_as_asked() {
    let zip = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/native/fixtures/pictures.zip");
    let read =
        |options: &[&str]| said(&[&["data", "--data", zip, "--size", "9"], options].concat());
    let (colour, grey) = (read(&["--colour"]), read(&["--channels", "grey"]));
    assert_eq!(colour, read(&["--channels", "colour", "--crop", "centre"]));
    assert_ne!(colour, grey);
    assert_ne!(colour, read(&["--colour", "--crop", "none"]));
    assert!(refused(&["data", "--colour", "--channels", "grey"]).contains("cannot be used with"));
}

#[test]
fn the_cpu_computes_what_it_should() {
    assert!(!said(&["check", "--engine", "cpu"]).contains("NO"));
    let checks = printed_json(&["check", "--engine", "cpu", "--json"]);
    let checks = checks.as_array().unwrap();
    assert!(checks.len() > 3 && checks.iter().all(|check| check["holds"] == true), "{checks:?}");
}

#[test]
fn bad_input_is_refused_with_a_sentence() {
    let broken = file("broken.safetensors");
    fs::write(&broken, b"no run").unwrap();
    for (args, says) in [
        (vec!["train", "--data", "nowhere.npy"], "nowhere.npy"),
        (vec!["train", "--n", "0", "--steps", "1"], "at least one image"),
        (vec!["train", "--n", "many"], "invalid value"),
        (vec!["train", "--rate", "0"], "learning rate"),
        (vec!["train", "--width", "1000000"], "narrower"),
        (vec!["train", "--depth", "18446744073709551615"], "fewer blocks"),
        (vec!["train", "--batch", "1000000"], "smaller batch"),
        (
            vec!["train", "--network", "unet", "--preset", "faithful", "--width", "99999"],
            "channels",
        ),
        (vec!["train", "--n", "1000000000000"], "fewer images"),
        (vec!["train", "--resume", &broken], "not a saved run"),
        (vec!["train", "--resume", &broken, "--steps", "9"], "cannot be used with"),
        (vec!["sample", &broken], "not a saved run"),
        (vec!["sample", &broken, "--out", "samples.gif"], ".npy"),
        (vec!["sample", &broken, "--count", "0"], "1 to 4096"),
        (vec!["record", "--only", "nothing"], "transition-main-faces"),
        (vec!["transition", "--config", &broken], "broken.safetensors"),
    ] {
        let error = refused(&args);
        assert!(error.contains(says), "{args:?}: {error}");
    }
}

/// The commands in the documentation exist, with their flags.
#[test]
fn documented_commands_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for document in ["README.md", "CONTRIBUTING.md", "docs/cluster.md", "docs/adding-a-denoiser.md"]
    {
        let text = fs::read_to_string(root.join(document)).unwrap();
        for line in text.lines().map(str::trim_start) {
            let Some(line) = line.strip_prefix("hidden-gaussian ") else { continue };
            let line = line.split(" #").next().unwrap().split('|').next().unwrap();
            let mut words = line.split_whitespace().peekable();
            let mut command = vec![words.next().unwrap()];
            if command == ["sweep"] {
                command.extend(words.next());
            }
            let help = said(&[&command[..], &["--help"]].concat());
            for flag in words.filter(|word| word.starts_with("--")) {
                assert!(help.contains(flag), "{document}: {line}");
            }
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

/// The runs that are shipped with the page are complete, small enough, and say how they were made.
#[test]
fn recorded_runs_are_whole() {
    let folder = PathBuf::from(RUNS);
    let index: Value =
        serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap();
    let entries = index.as_array().unwrap();
    let mut total = 0;
    for entry in entries {
        let text = fs::read(folder.join(entry["file"].as_str().unwrap())).unwrap();
        let report: Value = serde_json::from_slice(&text).unwrap();
        let bytes = text.len() + pictures(&folder, &report, std::str::from_utf8(&text).unwrap());
        assert_eq!(entry["bytes"], bytes, "{entry}");
        total += bytes;
        assert_eq!(report["experiment"], entry["experiment"]);
        assert_eq!(report["record"], entry["record"]);
        assert_eq!(report["data"]["set"], entry["data"]);
        assert_eq!(report["final"], true);
        assert_eq!(report["format"], 2);
        for key in ["command", "date", "device", "commit"] {
            assert!(report["record"][key].is_string(), "{key} of {entry}");
        }
        assert_eq!(report["config"]["seeds"], entry["seeds"], "{entry}");
        // The figures of the paper draw the range of three seeds; but a network on photographs takes as long
        // as a hundred on faces.
        let figures = ["transition", "gaussian-bias", "emergence", "strong-generalization"];
        if figures.map(Value::from).contains(&entry["experiment"]) && entry["preset"] != "cifar" {
            assert_eq!(entry["seeds"].as_array().unwrap().len(), 3, "{entry}");
        }
    }
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file()).count();
    assert_eq!(files, entries.len() + 1, "files that the index does not know");
    assert!(total <= 8_000_000, "{total} bytes");
}

/// A size that a recorded run lacks is added to it: the networks that are there stay as they are, and the new
/// ones come out as if all had been trained together.
#[test]
fn sizes_are_added_to_a_recording() {
    let (shipped, name) = (PathBuf::from(RUNS), "transition-quick-faces");
    let folder = PathBuf::from(file("sizes-added"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join(name)).unwrap();
    let read = |folder: &Path| -> Value {
        serde_json::from_slice(&fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap()
    };
    let whole = read(&shipped);
    let mut fewer = whole.clone();
    let is_64 = |value: &Value| *value == 64 || value.as_str().is_some_and(|s| s.contains("/n64-"));
    let retain = |value: &mut Value, keep: &dyn Fn(&Value) -> bool| {
        value.as_array_mut().unwrap().retain(keep);
    };
    retain(&mut fewer["config"]["sizes"], &|n| !is_64(n));
    retain(&mut fewer["sheets"], &|sheet| !is_64(sheet));
    retain(&mut fewer["findings"], &|point| !is_64(&point["n"]));
    for sheet in fewer["sheets"].as_array().unwrap() {
        let sheet = sheet.as_str().unwrap();
        fs::copy(shipped.join(sheet), folder.join(sheet)).unwrap();
    }
    fs::write(folder.join(format!("{name}.json")), fewer.to_string()).unwrap();

    let to = folder.display().to_string();
    said(&["record", "--engine", "cpu", "--only", name, "--folder", &to, "--checkpoint", &to]);
    let added = read(&folder);
    assert_eq!(added["config"], whole["config"]);
    assert_eq!(added["sheets"], whole["sheets"]);
    let [added, whole] = [&added, &whole].map(|report| report["findings"].as_array().unwrap());
    assert_eq!(added.len(), whole.len());
    for (added, whole) in added.iter().zip(whole) {
        if !is_64(&whole["n"]) {
            assert_eq!(added, whole);
        }
        assert_eq!((&added["n"], &added["seed"]), (&whole["n"], &whole["seed"]));
        assert_eq!(added["samples"], whole["samples"]);
        let copies = |point: &Value| {
            point["denoisers"]["trained"]["closeness"]["memorized"]["mean"].as_f64().unwrap()
        };
        assert!(
            (copies(added) - copies(whole)).abs() < 0.05,
            "{} {}",
            copies(added),
            copies(whole)
        );
    }
    for sheet in fewer["sheets"].as_array().unwrap() {
        let sheet = sheet.as_str().unwrap();
        assert!(fs::read(folder.join(sheet)).unwrap() == fs::read(shipped.join(sheet)).unwrap());
    }
    assert!(folder.join(name).join("n64-samples.png").is_file());
}

/// The recorded run on CIFAR-10 lies in its bands; one that memorizes where it should not does not.
#[test]
fn recorded_claims_are_judged() {
    let judge = |path: &str| {
        let args = ["reproduce", "--cifar", "--engine", "cpu", "--json", "--recorded", path];
        let claims: Value = serde_json::from_slice(&run(&args).stdout).unwrap();
        let holds = |claim: &Value| claim["holds"].as_bool().unwrap();
        claims.as_array().unwrap().iter().map(holds).collect::<Vec<_>>()
    };
    assert_eq!(judge(RUNS), [true; 14]);
    let text = fs::read(format!("{RUNS}/transition-cifar-cifar10.json")).unwrap();
    let mut report: Value = serde_json::from_slice(&text).unwrap();
    let points = report["findings"].as_array_mut().unwrap();
    let many = points.iter_mut().find(|point| point["n"] == 16_384).unwrap();
    many["denoisers"]["trained"]["closeness"]["memorized"]["mean"] = json!(0.5);
    let path = file("copies.json");
    fs::write(&path, report.to_string()).unwrap();
    // The memorized fraction itself, and its rise.
    assert_eq!(judge(&path).iter().filter(|holds| !**holds).count(), 2);
    let quick = format!("{RUNS}/transition-quick-faces.json");
    assert!(refused(&["reproduce", "--cifar", "--recorded", &quick]).contains("CIFAR-10"));
}

/// Total size of the pictures of a recorded run. They are in sheets, each of which exists, has the positions
/// that the report names, and is named in it.
fn pictures(folder: &Path, report: &Value, text: &str) -> usize {
    let number = |field: &str| report["shape"][field].as_u64().unwrap() as u32;
    let (width, height) = (number("width"), number("height"));
    let sheets = report["sheets"].as_array().unwrap();
    if sheets.is_empty() {
        let numbers = ["edge", "clocks", "modes"].map(Value::from);
        assert!(numbers.contains(&report["experiment"]), "all others draw pictures");
        return 0;
    }
    let mut total = 0;
    for sheet in sheets.iter().map(|sheet| sheet.as_str().unwrap()) {
        let path = folder.join(sheet);
        total += fs::metadata(&path).unwrap().len() as usize;
        let (wide, high) = image::image_dimensions(&path).unwrap();
        assert_eq!([wide % width, high % height], [0, 0], "{sheet}");
        let places: Vec<&str> = text.split(&format!("{sheet}#")).skip(1).collect();
        assert!(!places.is_empty(), "{sheet} is not drawn");
        for place in places {
            let numbers = place.split('"').next().unwrap();
            let (first, count) = numbers.split_once(',').unwrap();
            let end = first.parse::<u32>().unwrap() + count.parse::<u32>().unwrap();
            assert!(end <= (wide / width) * (high / height), "{sheet}#{numbers}");
        }
    }
    let own = folder.join(sheets[0].as_str().unwrap()).parent().unwrap().to_path_buf();
    assert_eq!(fs::read_dir(own).unwrap().count(), sheets.len(), "a sheet that no report names");
    total
}

#[cfg(unix)]
mod interrupted {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;
    use std::time::Duration;

    use super::*;

    /// Starts the program, presses Ctrl-C while it works, and returns its final output. If it was already done
    /// by then, it is interrupted earlier in another attempt.
    fn stopped_in(folder: &str, args: &[&str]) -> String {
        let waits = [500, 200, 80, 30].map(Duration::from_millis).into_iter();
        let stopped = waits.map(|wait| stopped_after(wait, folder, args));
        stopped.flatten().next().unwrap()
    }

    fn stopped_after(wait: Duration, folder: &str, args: &[&str]) -> Option<String> {
        let mut command = program();
        let command = command.current_dir(folder).args(args).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        errors.read_line(&mut text).unwrap();
        assert!(text.contains("Ctrl-C"), "{text}");
        std::thread::sleep(wait);
        // Until it is waited for, it keeps its process id, even when it is done.
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        errors.read_to_string(&mut text).unwrap();
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 2)), "{text}");
        (code == Some(2)).then_some(text)
    }

    /// Without a checkpoint, nothing is saved.
    #[test]
    fn claims_are_given_up() {
        let text = stopped_in(".", &["reproduce", "--engine", "cpu"]);
        assert!(text.to_lowercase().contains("stopped"), "{text}");
    }

    /// A recording that was stopped is saved as a whole, and nothing of it is published. A file that is not its
    /// own is refused and left alone.
    #[test]
    fn recordings_are_saved() {
        let (folder, saved) = (file("recorded-in-parts"), file("saved-on-the-way"));
        for folder in [&folder, &saved] {
            let _ = fs::remove_dir_all(folder);
        }
        let only = "transition-quick-faces";
        let record = ["record", "--engine", "cpu", "--only", only, "--folder", &folder];
        let record =
            [&record[..], &["--checkpoint", &saved, "--checkpoint-every", "0.05"]].concat();
        let text = stopped_in(".", &record);
        let path = Path::new(&saved).join("transition-quick-faces.run");
        assert!(text.contains(&path.display().to_string()), "{text}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&saved).unwrap().count(), 1);

        let whole = fs::read(&path).unwrap();
        let other = [&b"not a saved run"[..], &whole[..whole.len() / 2]];
        for (bytes, says) in other.into_iter().zip(["not a saved run", "damaged"]) {
            fs::write(&path, bytes).unwrap();
            let error = refused(&record);
            assert!(error.contains(says) && error.contains("Move the file away"), "{error}");
            assert!(fs::read(&path).unwrap() == bytes, "what is not ours stays");
        }
        fs::write(&path, &whole).unwrap();
        let text = stopped_in(".", &record);
        assert!(text.contains("Resuming from"), "{text}");
    }

    /// Over time and over widths, so that earlier measurements must be restored, too.
    #[test]
    fn an_experiment_goes_on_to_the_same_findings() {
        let (config, whole, parts) = (file("stop.json"), file("whole.json"), file("parts.json"));
        let mut small = printed_json(&["emergence", "--show-config"]);
        small["sizes"] = json!([4, 16]);
        small["widths"] = json!([16]);
        small["widthSizes"] = json!([16]);
        small["checkpoints"] = json!([5, 50]);
        small["evaluation"]["samples"] = json!(10);
        small["evaluation"]["images"] = json!(10);
        small["train"]["steps"] = json!(200);
        small["trainLong"]["steps"] = json!(1500);
        small["trainLong"]["architecture"]["width"] = json!(64);
        fs::write(&config, small.to_string()).unwrap();
        let args = ["emergence", "--engine", "cpu", "--config", &config, "--out"];
        said(&[&args[..], &[&whole]].concat());
        let folder = file("");
        let text = stopped_in(&folder, &[&args[..], &[&parts]].concat());
        let resumed = program().current_dir(&folder).args(resume(&text)).output().unwrap();
        assert!(resumed.status.success());
        let [whole, parts] = [whole, parts]
            .map(|path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap());
        assert!(whole["findings"] == parts["findings"]);
    }

    /// The words after “Resume with: hidden-gaussian”.
    fn resume(text: &str) -> Vec<&str> {
        let (_, command) = text.split_once("hidden-gaussian ").unwrap();
        command.split_whitespace().collect()
    }

    #[test]
    fn training_goes_on_to_the_same_bits() {
        let (whole, parts) = (file("whole.safetensors"), file("parts.safetensors"));
        let args = ["train", "--engine", "cpu", "--n", "8,40", "--width", "64", "--steps", "1500"];
        said(&[&args[..], &["--out", &whole]].concat());
        let text = stopped_in(".", &[&args[..], &["--out", &parts]].concat());
        assert!(text.contains("Stopped at step"), "{text}");
        assert_ne!(fs::read(&whole).unwrap(), fs::read(&parts).unwrap());
        said(&resume(&text));
        assert!(fs::read(&whole).unwrap() == fs::read(&parts).unwrap());
    }
}

/// The page's tables are up to date.
#[test]
fn the_page_has_the_tables_of_the_library() {
    let out = file("tables");
    said(&["tables", "--out", &out]);
    let names = |folder: &Path| {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        files.collect::<BTreeSet<_>>()
    };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/src/tables");
    assert_eq!(names(Path::new(&out)), names(&page));
    let renew = "cargo run --release -- tables --out www/src/tables";
    for name in names(&page) {
        let same =
            fs::read(Path::new(&out).join(&name)).unwrap() == fs::read(page.join(&name)).unwrap();
        assert!(same, "{name:?} is old; renew the page's tables: {renew}");
    }
}

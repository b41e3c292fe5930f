//! Where the images come from, and `data`, which shows them.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use clap::{Args, ValueEnum};
use hidden_gaussian::data::cifar10::fetch::{PACKAGE_BYTES, fetch as fetch_cifar10};
use hidden_gaussian::data::faces::faces;
use hidden_gaussian::data::{
    CIFAR10, Channels, Dataset, FACES, Fit, Labels, Options, Recipe, SetEntry, SetOrigin, Split,
    cifar10, read,
};
use hidden_gaussian::experiment::Preset;
use hidden_gaussian::rng::fresh_seed;
use hidden_gaussian::{Error, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::pictures::write_sheet;
use super::{Data, json};

/// Most images that are held out from training.
const HELD_OUT: usize = 500;

/// The folder of the shipped sets in the repository.
const SHIPPED: &str = "www/public/data";

/// A set of images, and how it is read and shuffled.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// faces, patches, fashion, mnist, cifar10, or a path: IDX, CIFAR-10, .npy, one of them in a zip or
    /// gzip, or a folder or zip of PNG, JPEG or WebP pictures
    /// [default: faces, or cifar10 for the presets of that name]
    #[arg(long, value_name = "SET", verbatim_doc_comment)]
    data: Option<String>,
    /// Pixels per side [default: as in the file, up to 64; 12 to 16 for the shipped sets, depending on the
    /// preset]
    #[arg(long, value_name = "N", verbatim_doc_comment)]
    size: Option<usize>,
    /// Colours of the images [default: as in the file]
    #[arg(long, value_enum)]
    channels: Option<ChannelsName>,
    /// Short for `--channels colour`
    #[arg(long, conflicts_with = "channels")]
    colour: bool,
    /// How pictures are made square
    #[arg(long, value_enum, num_args = 0..=1, default_value = "centre", default_missing_value = "centre")]
    crop: Crop,
    /// Only images of this class, in a set with labels
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
    /// Images that are held out from training [default: the set's own test images; without any, a
    /// quarter, at most 500]
    #[arg(long, value_name = "N")]
    held_out: Option<usize>,
    /// The number that determines every random choice, or `random` for a fresh one
    #[arg(long, value_name = "SEED", default_value = "1", value_parser = seed)]
    pub(super) seed: u64,
    /// The set, once it has been read.
    #[arg(skip)]
    loaded: RefCell<Option<Rc<Dataset>>>,
}

/// Parses a seed. `random` draws one and prints it on standard error, so that the run can be repeated.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    if text == "random" {
        let seed = fresh_seed().map_err(|error| error.to_string())?;
        eprintln!("Seed: {seed}");
        return Ok(seed);
    }
    text.parse().map_err(|_| "expected a whole number or `random`".into())
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ChannelsName {
    /// Brightness
    Grey,
    /// Red, green and blue
    Colour,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Crop {
    /// Crop to the square in the middle
    Centre,
    /// Stretch to a square
    None,
}

impl Source {
    /// The set `data`, drawn and shuffled by `seed`.
    pub(super) fn new(data: &str, seed: u64) -> Self {
        Self {
            data: Some(data.into()),
            size: None,
            channels: None,
            colour: false,
            crop: Crop::Centre,
            class: None,
            held_out: None,
            seed,
            loaded: RefCell::default(),
        }
    }

    /// The same set in this many pixels per side.
    pub(super) fn with_side(self, size: Option<usize>) -> Self {
        Self { size, ..self }
    }

    /// The name of the set, if one was given.
    pub(super) fn named(&self) -> Option<&str> {
        self.data.as_deref()
    }

    /// Loads the set, with at least `train` training images beside the held-out ones if it can be drawn.
    pub(super) fn dataset(&self, preset: Preset, train: usize) -> Result<Rc<Dataset>> {
        if let Some(set) = &*self.loaded.borrow() {
            return Ok(Rc::clone(set));
        }
        let name = self.named().unwrap_or(match preset {
            Preset::CifarQuick | Preset::Cifar => CIFAR10,
            _ => FACES,
        });
        let shipped = SetEntry::find(name).filter(|entry| entry.origin != SetOrigin::Fetched);
        let side = shipped.map(|entry| match preset {
            // An MLP takes any size, so images are halved where that leaves enough of them.
            Preset::Quick | Preset::Main => preset.side().max(entry.side / 2),
            _ => preset.side(),
        });
        let named = self.colour.then_some(ChannelsName::Colour);
        let channels = self.channels.or(named).map(|channels| match channels {
            ChannelsName::Grey => Channels::Grey,
            ChannelsName::Colour => Channels::Colour,
        });
        let fit = match self.crop {
            Crop::Centre => Fit::Crop,
            Crop::None => Fit::Stretch,
        };
        let options = Options { size: self.size.or(side), channels, fit, ..Options::default() };
        let count = train.saturating_add(self.held_out.unwrap_or(HELD_OUT));
        let set = Rc::new(load(name, &options, self.class.as_deref(), self.seed, count)?);
        if name != FACES {
            // All its images are loaded at once, and a large set takes a while to read.
            *self.loaded.borrow_mut() = Some(Rc::clone(&set));
        }
        Ok(set)
    }

    /// Shuffles and splits the set. It is read again if it is needed again.
    pub(super) fn split(&self, set: &Rc<Dataset>) -> Result<Split> {
        self.loaded.take();
        // A set with test images need not hold out any others.
        let default = || if set.test().is_some() { 0 } else { set.hold_out(4, HELD_OUT) };
        set.split(self.seed, self.held_out.unwrap_or_else(default))
    }
}

/// Reproduces the images of a recipe, from `path` if their file has moved.
pub(super) fn again(recipe: &Recipe, path: Option<&str>) -> Result<Split> {
    let Recipe { set, size, seed, count, held_out, class, .. } = recipe;
    let options = Options {
        size: Some(*size),
        channels: Some(if recipe.channels == 3 { Channels::Colour } else { Channels::Grey }),
        fit: if recipe.crop { Fit::Crop } else { Fit::Stretch },
        ..Options::default()
    };
    let set = load(path.unwrap_or(set), &options, class.as_deref(), *seed, *count)?;
    let split = set.split(*seed, *held_out)?;
    recipe.check(split.recipe())?;
    Ok(split)
}

/// Loads the set `name`: `count` images if it can be drawn, and otherwise all.
fn load(
    name: &str,
    options: &Options,
    class: Option<&str>,
    seed: u64,
    count: usize,
) -> Result<Dataset> {
    let set = match SetEntry::find(name).map(|entry| entry.origin) {
        Some(SetOrigin::Drawn) => {
            if options.channels == Some(Channels::Colour) {
                return Err(Error::bad_input(
                    "Faces are grey",
                    "Choose another set, or omit --channels colour",
                ));
            }
            // Any larger number is refused as too large, too.
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            faces(seed, count, options.size.unwrap_or(Preset::Quick.side()))?
        }
        Some(SetOrigin::Fetched) => cifar10(options)?,
        Some(SetOrigin::Packed) => {
            let path = Path::new(SHIPPED).join(format!("{name}.bin"));
            if !path.exists() {
                return Err(Error::bad_input(
                    format!("{} is missing", path.display()),
                    "Run `cargo xtask build` in the repository, which packs the sets",
                ));
            }
            read(&path, options)?
        }
        None => read(Path::new(name), options)?,
    };
    match class {
        Some(class) => set.class(class),
        None => Ok(set),
    }
}

/// Arguments of `fetch`.
#[derive(Debug, Args)]
pub(super) struct Fetch {
    /// The set to download
    #[arg(value_enum)]
    set: Fetched,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Fetched {
    /// CIFAR-10 (Krizhevsky, 2009): 60,000 images of 32 × 32 in colour, 139 MB
    Cifar10,
}

/// Downloads a set into the user's cache.
pub(super) fn fetch(args: &Fetch) -> Result<bool> {
    let Fetched::Cifar10 = args.set;
    let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes}  {eta}");
    let bar = ProgressBar::new(PACKAGE_BYTES).with_message("CIFAR-10");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    if bar.is_hidden() {
        eprintln!("Downloading CIFAR-10, 139 MB");
    }
    let fetched = fetch_cifar10(&mut |bytes| bar.set_position(bytes));
    bar.finish_and_clear();
    let path = fetched.map_err(|problem| Error::bad_input(problem.message, problem.hint))?;
    println!("CIFAR-10 is in {}; use it with --data {CIFAR10}", path.display());
    Ok(true)
}

/// Images per row of a sheet, and rows.
const SHEET: [usize; 2] = [24, 12];

pub(super) fn command(args: &Data) -> Result<bool> {
    let set = args.source.dataset(args.preset.into(), 1000)?;
    let shape = set.shape();
    let hash = format!("{:016x}", set.hash());
    if args.json {
        let classes: Option<serde_json::Map<_, _>> = set.labels().map(|labels| {
            per_class(labels).map(|(name, count)| (name.to_owned(), count.into())).collect()
        });
        let test = set.test().map_or(0, Dataset::len);
        let described = json!({
            "about": set.about, "images": set.len(), "shape": shape, "hash": hash,
            "classes": classes, "testImages": test,
        });
        println!("{}", json(&described)?);
    } else {
        let about = &set.about;
        println!("{}: {} images of {}", about.name, set.len(), shape);
        if let Some(test) = set.test() {
            println!("{} test images", test.len());
        }
        if let Some(labels) = set.labels() {
            let classes = per_class(labels).map(|(name, count)| format!("{name} {count}"));
            println!("Classes: {}", classes.collect::<Vec<_>>().join(", "));
        }
        for line in [&about.source, &about.licence, &about.note] {
            if !line.is_empty() {
                println!("{line}");
            }
        }
        println!("Hash: {hash}");
    }
    if let Some(path) = &args.sheet {
        let [columns, rows] = SHEET;
        let count = set.len().min(columns * rows);
        write_sheet(path, shape, &[&set.images()[..count * shape.dim()]], columns)?;
    }
    Ok(true)
}

/// The classes that occur, each with its number of images.
fn per_class(labels: &Labels) -> impl Iterator<Item = (&str, usize)> {
    let count = |class: usize| {
        let of_it = |label: &&u8| usize::from(**label) == class;
        labels.classes().iter().filter(of_it).count()
    };
    let classes = labels.names().iter().enumerate();
    classes.map(move |(i, name)| (name.as_str(), count(i))).filter(|(_, count)| *count > 0)
}

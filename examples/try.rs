use hidden_gaussian::{compute::Engine, data::faces::faces, experiment::{portrait::Look, study::{Member, Study}}, train::Config};
use std::time::{Duration, Instant};
fn main() { pollster::block_on(async {
    let args: Vec<String> = std::env::args().collect();
    let main_preset = args.get(1).is_some_and(|a| a == "main");
    let ns: Vec<usize> = args[2].split(',').map(|v| v.parse().unwrap()).collect();
    let split = faces(7, 9300, 12).unwrap().split(7, 1024).unwrap();
    let config = if main_preset { Config::main(vec![]) } else { Config::quick(vec![]) };
    let look = if main_preset { Look::default() } else { Look { sampler_steps: 10, ..Look::default() } };
    let members: Vec<_> = ns.iter().map(|&n| Member { first: 0, n, seed: 1 }).collect();
    let t = Instant::now();
    let mut s = Study::new(&Engine::Cpu, &split, &members, &config, &look).await.unwrap();
    let r = s.references().await.unwrap();
    println!("references {:?}", t.elapsed());
    let t = Instant::now();
    while !s.is_done() { let rep = s.advance(Duration::from_millis(300)).await.unwrap(); eprint!("\r{} {:.0}/s {:?}", rep.step, rep.steps_per_second, rep.members.iter().map(|m| m.loss.unwrap_or(0.0)).collect::<Vec<_>>()); }
    println!("\ntrained {:?}", t.elapsed());
    let t = Instant::now();
    let p = s.points(&r).await.unwrap();
    println!("portraits {:?}", t.elapsed());
    for p in p {
        println!("N={:5} GL {:.3} (G {:.3}, held {:.3}) mem {:.2} lin1 {:.3} lin.4 {:.3} cosG {:.3} cosM {:.3} dG {:.3} dM {:.3} dMtrain {:.3}", p.member.n, p.closeness.gl.mean, p.closeness_gaussian.gl.mean, p.closeness_held_out.gl.mean, p.closeness.memorized.mean, p.linearity[2].cosine.mean, p.linearity[4].cosine.mean, p.cosine_gaussian.mean, p.cosine_empirical.mean, p.difference_gaussian.held_out[3].mean, p.difference_empirical.held_out[3].mean, p.difference_empirical.train[3].mean);
    }
})}

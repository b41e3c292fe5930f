//! Build, serve and test the project.
fn main() {}

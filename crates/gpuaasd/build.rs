//! Has the program built again when the console was. Debug builds read the
//! console's files from its folder and need not be.

fn main() {
    let is_debug = std::env::var("PROFILE").is_ok_and(|it| it == "debug");
    let watched = if is_debug { "build.rs" } else { "../../console/dist" };
    println!("cargo::rerun-if-changed={watched}");
}

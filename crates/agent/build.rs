//! Tells the program which architecture it is built for.

fn main() {
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    println!("cargo:rustc-env=GPUAAS_ARCH={arch}");
}

//! What is wrong with a stack is said with its place, and nothing is done.

use crate::declare::stand::Stand;

const NAME: &str = "kind: stack\nname: lab\n---\n";

#[tokio::test(flavor = "multi_thread")]
async fn wrong_files_are_refused_whole() {
    let stand = Stand::new().await;
    let long = "x".repeat(1_048_577);
    for (stack, says) in [
        ("kind: stack\nname: lab\n  bad: [\n", "invalid YAML"),
        (
            "kind: stack\nname: lab\n---\nkind: pod\n",
            "document 2, line 4: `kind`: `pod`: unknown kind; expected one of stack, sku",
        ),
        ("kind: stack\nname: lab\n---\nkind: projcet\nname: a\n", "did you mean `project`?"),
        ("kind: stack\nname: lab\n---\nkind: project\nname: [a]\n", "line 5: `name`: expected text, found a list"),
        (
            "kind: stack\nname: lab\n---\nkind: project\nname: a\nnmae: b\n",
            "line 6: `nmae`: unknown field; did you mean `name`?",
        ),
        ("kind: stack\nname: lab\n---\nkind: project\nname: <b>a</b>\n", "line 5: `name`: a name has 1 to 64 letters"),
        (
            "kind: stack\nname: lab\n---\nkind: project\nname: a\n---\nkind: project\nname: A\n",
            "document 3, line 7: the project A is already declared",
        ),
        (
            "kind: stack\nname: lab\n---\nkind: allocation\nproject: a\nname: b\nsku: c\ngpus: many\n",
            "expected a number",
        ),
        ("kind: stack\nname: lab\n---\nkind: price\nsku: a\ncurrency: USD\namount: 1e3\n", "an amount such as 2.50"),
        ("kind: stack\nname: lab\n---\na: &x [1]\nb: *x\n", "anchors"),
        ("kind: stack\nname: lab\n---\nkind: project\nname: a\n\tb: c\n", "invalid YAML"),
        ("{\"kind\": \"stack\", \"name\": 7}", "`name`: expected text, found a number"),
        ("", "the stack has no name"),
        (&long, "larger than 1048576 bytes"),
    ] {
        let ended = stand.run("apply", stack, &["--yes"]).await.has(2, &[says]);
        assert!(ended.out.is_empty(), "{ended:?}");
    }
    let json = stand.run("apply", "kind: x\n", &["--yes", "-o", "json"]).await.has(2, &["\"code\": \"usage\""]);
    assert!(json.out.is_empty());
    assert!(stand.projects().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn name_in_a_document_must_exist() {
    let stand = Stand::new().await;
    let budget = format!("{NAME}kind: budget\nproject: nowhere\namount: 1\ncurrency: USD\nperiod: month\n");
    stand.run("diff", &budget, &[]).await.has(5, &["line 4 (budget nowhere/USD/month): project `nowhere` not found"]);
    let price = format!("{NAME}kind: price\nsku: nothing\ncurrency: USD\namount: 1\n");
    stand.staff("diff", &price, &[]).await.has(5, &["SKU `nothing` not found"]);
    let policy = format!("{NAME}kind: policy\nkey: projects.mux\nvalue: 1\n");
    stand.run("diff", &policy, &[]).await.has(5, &["document 2, line 4 (policy projects.mux): "]);
    let sku = format!("{NAME}kind: sku\nname: mine\nshape: gpu_slice\ngpu_counts: [1]\n");
    stand.run("apply", &sku, &["--yes"]).await.has(4, &["(sku mine): "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_read_plans_and_what_was_done_as_json() {
    let stand = Stand::new().await;
    let stack = format!("{NAME}kind: webhook\nurl: https://hooks.example.com/a\nevents: [\"*\"]\n");
    let plan = stand.run("diff", &stack, &["-o", "json"]).await;
    let plan: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
    assert_eq!((&plan["stack"], &plan["steps"][0]["action"]), (&"lab".into(), &"create".into()));
    let done = stand.run("apply", &stack, &["--yes", "-o", "json"]).await.has(0, &[]);
    let done: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert!(done["done"][0]["secret"].as_str().is_some_and(|it| it.len() > 20), "{done}");
    let quiet = stand.run("delete", &stack, &["--yes", "--quiet"]).await.has(0, &[]);
    assert!(quiet.out.is_empty() && stand.webhooks().await.is_empty(), "{quiet:?}");
}

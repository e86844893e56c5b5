//! What the printed tables must say.

use super::*;

#[test]
fn every_code_endpoint_event_and_notification_has_its_row() {
    let page = errors();
    for code in Code::ALL {
        assert!(page.contains(&format!("| `{}` |", code.info().name)), "{code:?}");
    }
    assert!(endpoints().contains("| CreateProject |"));
    assert!(endpoints().contains("| WatchEvents |"));
    let created = "| `project.created` | A project was created. | `platform.organizations:read` | `id` ProjectId, \
                   `name` Name |";
    assert!(events().contains(created));
    assert!(events().contains("`project_id` ProjectId or null"));
    for kind in NotificationKind::ALL {
        assert!(notifications().contains(&format!("| `{kind}` |")), "{kind}");
    }
}

#[test]
fn a_move_shows_the_fields_of_every_move() {
    let page = events();
    let row = page.lines().find(|it| it.starts_with("| `project.deleted`")).unwrap();
    assert!(row.contains("`from` string") && row.contains("`version` int64"), "{row}");
}

#[test]
fn the_role_table_says_what_the_code_decides() {
    let page = roles();
    assert!(page.contains("| Permission | owner | admin | billing | member | viewer |"));
    assert!(page.contains("| `projects:write` | yes | yes | – | yes | – |"));
    assert!(page.contains("| `platform.audit:read` | yes | – | yes |"));
}

#[test]
fn a_table_has_as_many_cells_in_every_row() {
    for page in [errors(), roles(), endpoints(), events(), notifications()] {
        let mut width = None;
        for line in page.lines() {
            if !line.starts_with('|') {
                width = None;
                continue;
            }
            let cells = line.replace("\\|", "").matches('|').count();
            assert_eq!(*width.get_or_insert(cells), cells, "{line}");
        }
    }
}

//! `mehari top` on a terminal: figures, the sorted workers, and the stack of the chosen worker.

use super::figures::Figures;
use super::table::{self, Column, Order, Row};
use crate::stack::{self, StackNow};
use crate::watched_server::WatchedServer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row as ShownRow, Table, TableState};
use ratatui::Frame;
use std::time::{Duration, Instant};

/// The time between two looks.
const PAUSE: Duration = Duration::from_secs(1);

const KEYS: &str = "q quit  < > sort by  r reverse  up down choose  Enter stack  Esc back";

struct Screen {
    order: Order,
    figures: Option<Figures>,
    rows: Vec<Row>,
    chosen: TableState,
    /// The worker whose stack is shown.
    stack: Option<ShownStack>,
    /// Why the last look failed. Empty: it did not.
    trouble: String,
}

struct ShownStack {
    pid: u32,
    now: StackNow,
}

/// Shows the server until the user leaves.
pub fn run(server: &WatchedServer, order: Order) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the terminal: {error}");
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let mut screen = Screen::new(order);
    let outcome = loop {
        screen.look(server);
        let due = Instant::now() + PAUSE;
        match screen.until(due, &mut terminal) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(failed(error)),
        }
    };
    ratatui::restore();
    outcome
}

impl Screen {
    fn new(order: Order) -> Screen {
        Screen {
            order,
            figures: None,
            rows: Vec::new(),
            chosen: TableState::default().with_selected(0),
            stack: None,
            trouble: String::new(),
        }
    }

    fn look(&mut self, server: &WatchedServer) {
        match server.now() {
            Ok(status) => {
                self.figures = Some(Figures::of(&status, self.figures.as_ref()));
                self.rows = table::rows(&status, self.order);
                self.trouble.clear();
            }
            Err(reason) => self.trouble = reason,
        }
        if let Some(shown) = &mut self.stack {
            shown.now = stack::of(shown.pid);
        }
    }

    /// Draws and obeys keys until a look is due. Returns false when the user leaves.
    fn until(
        &mut self,
        due: Instant,
        terminal: &mut ratatui::DefaultTerminal,
    ) -> std::io::Result<bool> {
        loop {
            terminal.draw(|frame| self.draw(frame))?;
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() || !event::poll(left)? {
                return Ok(true);
            }
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => match self.obey(key) {
                    After::Leave => return Ok(false),
                    After::LookAgain => return Ok(true),
                    After::Draw => {}
                },
                _ => {}
            }
        }
    }

    fn obey(&mut self, key: KeyEvent) -> After {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('q') => return After::Leave,
            KeyCode::Char('c') if is_control => return After::Leave,
            KeyCode::Esc if self.stack.take().is_none() => return After::Leave,
            KeyCode::Esc => {}
            KeyCode::Char('>') | KeyCode::Right => return self.sort_by_next(1),
            KeyCode::Char('<') | KeyCode::Left => return self.sort_by_next(Column::ALL.len() - 1),
            KeyCode::Char('r') => {
                self.order.is_reversed = !self.order.is_reversed;
                return After::LookAgain;
            }
            KeyCode::Down | KeyCode::Char('j') => self.chosen.select_next(),
            KeyCode::Up | KeyCode::Char('k') => self.chosen.select_previous(),
            KeyCode::Enter => return self.open_stack(),
            _ => {}
        }
        After::Draw
    }

    fn sort_by_next(&mut self, step: usize) -> After {
        let all = Column::ALL;
        let at = all.iter().position(|it| *it == self.order.column);
        self.order.column = all[(at.unwrap_or_default() + step) % all.len()];
        After::LookAgain
    }

    fn open_stack(&mut self) -> After {
        let row = self.chosen.selected().and_then(|at| self.rows.get(at));
        self.stack = row.map(|row| ShownStack {
            pid: row.pid,
            now: stack::of(row.pid),
        });
        After::Draw
    }

    fn draw(&mut self, frame: &mut Frame) {
        let stack = if self.stack.is_some() { 12 } else { 0 };
        let parts = [
            Constraint::Length(5),
            Constraint::Min(3),
            Constraint::Length(stack),
            Constraint::Length(1),
        ];
        let [head, middle, below, foot] = Layout::vertical(parts).areas(frame.area());
        let lines = self.figures.as_ref().map_or(&[][..], Figures::lines);
        let lines: Vec<Line> = lines.iter().map(|text| Line::raw(text.as_str())).collect();
        frame.render_widget(Paragraph::new(lines), head);
        self.draw_workers(frame, middle);
        if let Some(shown) = &self.stack {
            draw_stack(frame, below, shown);
        }
        let foot_text = match self.trouble.as_str() {
            "" => KEYS,
            trouble => trouble,
        };
        frame.render_widget(Paragraph::new(foot_text), foot);
    }

    fn draw_workers(&mut self, frame: &mut Frame, area: Rect) {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let head = Column::ALL.map(|column| {
            let cell = Cell::from(aligned(column, column.word()));
            if column == self.order.column {
                cell.style(bold.add_modifier(Modifier::UNDERLINED))
            } else {
                cell.style(bold)
            }
        });
        let rows = self.rows.iter().map(|row| {
            let cells = Column::ALL.iter().zip(&row.texts);
            ShownRow::new(cells.map(|(column, text)| aligned(*column, text)))
        });
        let widths = Column::ALL.map(|column| match column {
            Column::Request => Constraint::Min(20),
            _ => Constraint::Length(column.width()),
        });
        let table = Table::new(rows, widths)
            .header(ShownRow::new(head))
            .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_stateful_widget(table, area, &mut self.chosen);
    }
}

/// What follows a key.
enum After {
    Draw,
    LookAgain,
    Leave,
}

fn aligned(column: Column, text: &str) -> String {
    let width = usize::from(column.width());
    if column.is_text() {
        text.to_owned()
    } else {
        format!("{text:>width$}")
    }
}

fn draw_stack(frame: &mut Frame, area: Rect, shown: &ShownStack) {
    let frames = shown.now.frames.iter().map(|it| match it.file.as_str() {
        "" => format!("{} ({})", it.name, it.kind),
        file => format!("{}  {file}:{}", it.name, it.line),
    });
    let mut lines: Vec<Line> = frames.map(Line::raw).collect();
    if lines.is_empty() {
        lines.push(Line::raw(shown.now.reason.as_str()));
    }
    let title = format!(
        " Perl stack of worker {}, the innermost call first ",
        shown.pid
    );
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title(title)),
        area,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::TestBackend;
    use ratatui::Terminal;
    use serde_json::json;

    fn screen() -> Screen {
        let mut screen = Screen::new("served".parse().expect("a column"));
        let status = json!({ "pid": 7, "pool": { "busy": 1, "idle": 0, "workers": [
            { "pid": 42, "state": "busy", "served": 3, "running_ms": 1500,
              "request": { "method": "GET", "target": "/x", "client": "::1" } } ] } });
        screen.figures = Some(Figures::of(&status, None));
        screen.rows = table::rows(&status, screen.order);
        screen
    }

    fn drawn(screen: &mut Screen, width: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, 24)).expect("a terminal");
        terminal.draw(|frame| screen.draw(frame)).expect("a frame");
        terminal.backend().to_string()
    }

    #[test]
    fn frame_shows_the_worker_the_stack_and_the_keys() {
        let mut screen = screen();
        let text = drawn(&mut screen, 160);
        assert!(
            text.contains("42") && text.contains("GET /x") && text.contains("1.5 s"),
            "{text}"
        );
        assert!(text.contains("q quit"), "{text}");
        screen.stack = Some(ShownStack {
            pid: 42,
            now: StackNow {
                frames: Vec::new(),
                reason: "the worker waits for a request".into(),
            },
        });
        let text = drawn(&mut screen, 160);
        assert!(text.contains("Perl stack of worker 42"), "{text}");
        assert!(text.contains("waits for a request"), "{text}");
        drawn(&mut screen, 20);
    }

    #[test]
    fn keys_sort_reverse_and_leave() {
        let mut screen = screen();
        let press =
            |screen: &mut Screen, code| screen.obey(KeyEvent::new(code, KeyModifiers::NONE));
        press(&mut screen, KeyCode::Char('>'));
        assert_eq!(screen.order.column, Column::Age);
        press(&mut screen, KeyCode::Char('<'));
        assert_eq!(screen.order.column, Column::Served);
        press(&mut screen, KeyCode::Char('r'));
        assert!(screen.order.is_reversed);
        for _ in 0..3 {
            press(&mut screen, KeyCode::Down);
        }
        drawn(&mut screen, 80);
        assert!(matches!(
            press(&mut screen, KeyCode::Char('q')),
            After::Leave
        ));
    }
}

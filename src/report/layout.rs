//! Places for boxes and arrows: a layered drawing, the same for the same input.
//!
//! Boxes stand in columns, each after everything that an arrow leads to it from;
//! arrows that would close a circle are left out of that. Within a column boxes
//! are ordered by the middle of their neighbours, in sweeps over all columns; the
//! order with the fewest crossings stays.

/// A box to place; pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// Where something lies; pixels from the upper left corner of the drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Area {
    /// Left edge.
    pub x: u32,
    /// Upper edge.
    pub y: u32,
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// Space between two columns: arrows bend here.
const BETWEEN_COLUMNS: u32 = 70;

/// Space between two boxes of a column.
const BETWEEN_BOXES: u32 = 16;

/// Sweeps over the columns. More change little in practice.
const SWEEPS: usize = 8;

/// Places boxes so that arrows `(from, to)` lead to the right. The second answer
/// is the size of the whole.
pub(crate) fn layered(boxes: &[Size], arrows: &[(usize, usize)]) -> (Vec<Area>, Size) {
    let arrows = without_circles(boxes.len(), arrows);
    let columns = ordered(columns(boxes.len(), &arrows), &arrows);
    place(boxes, &wrapped(boxes, columns))
}

/// Places areas of given sizes one after the other in rows, so that the whole is
/// about as wide as a screen is.
pub(crate) fn shelves(sizes: &[Size], gap: u32) -> (Vec<Area>, Size) {
    let surface: u64 = sizes.iter().map(|s| u64::from(s.width + gap) * u64::from(s.height + gap)).sum();
    let widest = sizes.iter().map(|size| size.width).max().unwrap_or(0);
    let wanted = u32::try_from((surface * 8 / 5).isqrt()).unwrap_or(u32::MAX).max(widest);
    let (mut x, mut y, mut tallest) = (0, 0, 0);
    let mut whole = Size { width: 0, height: 0 };
    let mut areas = Vec::with_capacity(sizes.len());
    for size in sizes {
        if x > 0 && x + size.width > wanted {
            (x, y, tallest) = (0, y + tallest + gap, 0);
        }
        areas.push(Area { x, y, width: size.width, height: size.height });
        whole = Size { width: whole.width.max(x + size.width), height: whole.height.max(y + size.height) };
        x += size.width + gap;
        tallest = tallest.max(size.height);
    }
    (areas, whole)
}

/// The arrows without those that lead back to a box on the way to them.
fn without_circles(count: usize, arrows: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in arrows.iter().filter(|(from, to)| from != to) {
        after[*from].push(*to);
    }
    let mut state = vec![Visit::Not; count];
    let mut kept = Vec::with_capacity(arrows.len());
    for start in 0..count {
        // A walk with its own stack: chains may be thousands of boxes long.
        let mut stack = vec![(start, 0)];
        if state[start] != Visit::Not {
            continue;
        }
        state[start] = Visit::OnTheWay;
        while let Some((at, next)) = stack.last_mut() {
            let from = *at;
            let Some(to) = after[from].get(*next).copied() else {
                state[from] = Visit::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            if state[to] != Visit::OnTheWay {
                kept.push((from, to));
            }
            if state[to] == Visit::Not {
                state[to] = Visit::OnTheWay;
                stack.push((to, 0));
            }
        }
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Not,
    OnTheWay,
    Done,
}

/// The boxes of each column: a box stands right of all that lead to it.
fn columns(count: usize, arrows: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut waiting = vec![0usize; count];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in arrows {
        waiting[*to] += 1;
        after[*from].push(*to);
    }
    let mut column = vec![0usize; count];
    let mut ready: Vec<usize> = (0..count).filter(|at| waiting[*at] == 0).collect();
    while let Some(from) = ready.pop() {
        for to in &after[from] {
            column[*to] = column[*to].max(column[from] + 1);
            waiting[*to] -= 1;
            if waiting[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    let mut columns = vec![Vec::new(); column.iter().max().map_or(0, |last| last + 1)];
    for (at, column) in column.iter().enumerate() {
        columns[*column].push(at);
    }
    columns
}

/// The columns, each in the order that crosses least among those tried.
fn ordered(mut columns: Vec<Vec<usize>>, arrows: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let count = columns.iter().map(Vec::len).sum();
    let (mut before, mut after): (Vec<Vec<usize>>, Vec<Vec<usize>>) =
        (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (from, to) in arrows {
        after[*from].push(*to);
        before[*to].push(*from);
    }
    let mut rank = vec![0usize; count];
    let settle = |columns: &[Vec<usize>], rank: &mut [usize]| {
        for column in columns {
            for (at, index) in column.iter().enumerate() {
                rank[*index] = at;
            }
        }
    };
    settle(&columns, &mut rank);
    let mut best = columns.clone();
    let mut fewest = crossings(&columns, &after, &rank);
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        let forward = sweep % 2 == 0;
        let neighbours = if forward { &before } else { &after };
        let order: Vec<usize> =
            if forward { (0..columns.len()).collect() } else { (0..columns.len()).rev().collect() };
        for at in order {
            let middle = |index: usize| {
                let near = &neighbours[index];
                // Thousandths, so that the order doesn't hang on rounding of floats.
                let sum: usize = near.iter().map(|other| rank[*other] * 1000).sum();
                if near.is_empty() { rank[index] * 1000 } else { sum / near.len() }
            };
            let mut column: Vec<(usize, usize, usize)> =
                columns[at].iter().map(|index| (middle(*index), rank[*index], *index)).collect();
            column.sort_unstable();
            columns[at] = column.into_iter().map(|(_, _, index)| index).collect();
            for (place, index) in columns[at].iter().enumerate() {
                rank[*index] = place;
            }
        }
        let found = crossings(&columns, &after, &rank);
        if found < fewest {
            fewest = found;
            best.clone_from(&columns);
        }
    }
    best
}

/// How many pairs of arrows that leave the same column cross, as far as the
/// order in columns tells.
fn crossings(columns: &[Vec<usize>], after: &[Vec<usize>], rank: &[usize]) -> usize {
    let mut count = 0;
    for column in columns {
        // Ends in order of starts; each earlier end above a later one crosses it.
        let mut ends: Vec<usize> = Vec::new();
        for index in column {
            let mut own: Vec<usize> = after[*index].iter().map(|to| rank[*to]).collect();
            own.sort_unstable();
            ends.extend(own);
        }
        count += inversions(&mut ends);
    }
    count
}

/// Pairs in the wrong order, by merging; sorts the list.
fn inversions(list: &mut [usize]) -> usize {
    if list.len() < 2 {
        return 0;
    }
    let middle = list.len() / 2;
    let (left, right) = list.split_at_mut(middle);
    let mut count = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut a, mut b) = (0, 0);
    while a < left.len() || b < right.len() {
        if b == right.len() || (a < left.len() && left[a] <= right[b]) {
            merged.push(left[a]);
            a += 1;
        } else {
            count += left.len() - a;
            merged.push(right[b]);
            b += 1;
        }
    }
    list.copy_from_slice(&merged);
    count
}

/// Columns that are much taller than the drawing is wide go on beside
/// themselves.
fn wrapped(boxes: &[Size], columns: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let height = |column: &[usize]| -> u64 {
        column.iter().map(|index| u64::from(boxes[*index].height + BETWEEN_BOXES)).sum()
    };
    let surface: u64 = boxes
        .iter()
        .map(|size| u64::from(size.width + BETWEEN_COLUMNS) * u64::from(size.height + BETWEEN_BOXES))
        .sum();
    let limit = surface.isqrt().max(700);
    let mut out = Vec::with_capacity(columns.len());
    for column in columns {
        if height(&column) <= limit * 5 / 4 {
            out.push(column);
            continue;
        }
        let mut part: Vec<usize> = Vec::new();
        for index in column {
            if !part.is_empty() && height(&part) + u64::from(boxes[index].height) > limit {
                out.push(std::mem::take(&mut part));
            }
            part.push(index);
        }
        out.push(part);
    }
    out
}

fn place(boxes: &[Size], columns: &[Vec<usize>]) -> (Vec<Area>, Size) {
    let mut areas = vec![Area::default(); boxes.len()];
    let mut whole = Size { width: 0, height: 0 };
    let mut x = 0;
    for column in columns {
        let mut y = 0;
        let mut widest = 0;
        for index in column {
            let size = boxes[*index];
            areas[*index] = Area { x, y, width: size.width, height: size.height };
            whole = Size { width: x + size.width.max(widest), height: whole.height.max(y + size.height) };
            y += size.height + BETWEEN_BOXES;
            widest = widest.max(size.width);
        }
        x += widest + BETWEEN_COLUMNS;
    }
    (areas, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(count: usize) -> Vec<Size> {
        vec![Size { width: 100, height: 50 }; count]
    }

    #[test]
    fn arrows_lead_to_the_right() {
        let arrows = [(0, 1), (1, 2), (0, 3), (3, 2), (4, 3)];
        let (areas, whole) = layered(&squares(5), &arrows);
        for (from, to) in arrows {
            assert!(areas[from].x + areas[from].width < areas[to].x, "{from} -> {to}: {areas:?}");
        }
        assert!(areas.iter().all(|area| area.x + area.width <= whole.width), "{areas:?} {whole:?}");
        assert!(areas.iter().all(|area| area.y + area.height <= whole.height), "{areas:?} {whole:?}");
    }

    #[test]
    fn circles_end() {
        let (areas, _) = layered(&squares(3), &[(0, 1), (1, 2), (2, 0), (1, 1)]);
        assert!(areas[0].x < areas[1].x && areas[1].x < areas[2].x, "{areas:?}");
    }

    #[test]
    fn crossed_pairs_are_uncrossed() {
        // 0, 1, 2 lead to 5, 4, 3: as written all three cross.
        let (areas, _) = layered(&squares(6), &[(0, 5), (1, 4), (2, 3)]);
        assert!(areas[5].y < areas[4].y && areas[4].y < areas[3].y, "{areas:?}");
    }

    #[test]
    fn no_two_boxes_overlap() {
        let mut seed = 7u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        for count in [1usize, 2, 17, 120] {
            let boxes: Vec<Size> = (0..count)
                .map(|_| Size { width: 120 + random(200) as u32, height: 40 + random(300) as u32 })
                .collect();
            let arrows: Vec<(usize, usize)> = (0..count * 2)
                .map(|_| (random(count as u64) as usize, random(count as u64) as usize))
                .collect();
            let (areas, _) = layered(&boxes, &arrows);
            for (at, a) in areas.iter().enumerate() {
                for b in &areas[at + 1..] {
                    let apart = a.x + a.width <= b.x
                        || b.x + b.width <= a.x
                        || a.y + a.height <= b.y
                        || b.y + b.height <= a.y;
                    assert!(apart, "{a:?} {b:?}");
                }
            }
            assert_eq!(layered(&boxes, &arrows).0, areas);
        }
    }

    #[test]
    fn shelves_are_about_as_wide_as_a_screen() {
        let (areas, whole) = shelves(&squares(64), 10);
        assert!((1.0..2.6).contains(&(f64::from(whole.width) / f64::from(whole.height))), "{whole:?}");
        assert_eq!(areas[0], Area { x: 0, y: 0, width: 100, height: 50 });
    }
}

"""What a tail's distributions say in years, how well that tells minors from
adults, and the scale that turns it into the gateway's estimate."""
import numpy as np

MAJORITY, DOUBT, PLAIN_FROM, PLAIN_ALONE = 18.0, 1.5, 45.0, 55.0  # as in internal/check/age/head.go
CUTOFF = 25.0
ANCHORS = (5, 10, 15, 20, 30, 40, 50, 60)  # ages at which the scale is right in the middle
GAP = 0.2  # years of reading between points, at least
BANDS = [(0, 7), (8, 12), (13, 17), (18, 24), (25, 35), (36, 50), (51, 70), (71, 120)]


def of(distribution):
    """The reading of each row, see Tuned in internal/check/age/head.go."""
    years = np.arange(distribution.shape[1])
    worth = 1 / (1 + np.exp((MAJORITY - years) / DOUBT)) + years / 2000
    distribution = distribution / distribution.sum(1, keepdims=True)
    full = distribution @ years
    share = np.clip((PLAIN_ALONE - full) / (PLAIN_ALONE - PLAIN_FROM), 0, 1)
    return full + share * (np.interp(distribution @ worth, worth, years) - full)


def auc(young, older):
    """Share of pairs in which the older is read older. Ties count half."""
    order = np.sort(young)
    below = np.searchsorted(order, older, "left") + np.searchsorted(order, older, "right")
    return below.sum() / 2 / (len(young) * len(older))


def scale_for(found, ages, collections, false_pass):
    """Points of a rising line. The reading that at most a share of each
    collection's 13- to 17-year-olds reaches is CUTOFF years: the collection that
    needs the highest one decides. The reading of half of those of an anchor's age,
    on average over the collections, is that age, where that leaves the line rising."""
    need = 0.0
    for name in set(collections):
        young = np.sort(found[(collections == name) & (ages >= 13) & (ages <= 17)])
        if len(young) >= 30:
            need = max(need, young[len(young) - 1 - int(false_pass * len(young))] + 0.05)
    if not need:
        return []
    points = [(round(float(need), 2), CUTOFF)]
    for age in ANCHORS:
        near = np.abs(ages - age) <= 2
        middle = [np.median(found[near & (collections == name)]) for name in set(collections) if (near & (collections == name)).sum() >= 10]
        if middle:
            points.append((round(float(np.mean(middle)), 2), float(age)))
    points.sort(key=lambda point: point[1])
    at = points.index((round(float(need), 2), CUTOFF))
    low, high = points[:at], points[at + 1 :]
    line = points[at : at + 1]
    for point in reversed(low):
        if point[0] <= line[0][0] - GAP:
            line.insert(0, point)
    for point in high:
        if point[0] >= line[-1][0] + GAP:
            line.append(point)
    return line


def scaled(found, scale):
    if not scale:
        return found
    reading, years = np.array(scale).T
    inside = np.interp(found, reading, years)
    return np.where(found < reading[0], found + years[0] - reading[0], np.where(found > reading[-1], found + years[-1] - reading[-1], inside))


def show(years, ages, collections):
    """Prints and returns the main figures of each collection; `agegate-lab eval` gives
    the rest, with intervals."""
    figures = {}
    for name in sorted(set(collections)):
        here = collections == name
        y, a = years[here], ages[here]
        young, older = y[(a >= 13) & (a <= 17)], y[(a >= 25) & (a <= 35)]
        bands = []
        for low, high in BANDS:
            band = y[(a >= low) & (a <= high)]
            if len(band):
                error = band - a[(a >= low) & (a <= high)]
                bands.append({
                    "from": low, "to": high, "count": len(band), "mae": round(float(np.abs(error).mean()), 2),
                    "bias": round(float(error.mean()), 2), "pass_at_25": round(float((np.round(band, 1) >= CUTOFF).mean()), 4),
                })
        figures[name] = {"pictures": int(here.sum()), "bands": bands}
        if len(young) and len(older):
            figures[name]["auc"] = round(float(auc(young, older)), 4)
        print(f"{name}: {figures[name].get('auc', '-')} AUC of 13–17 against 25–35; " + ", ".join(
            f"{b['from']}–{b['to']} ({b['count']}) {b['mae']} {100 * b['pass_at_25']:.1f} %" for b in bands), flush=True)
    return figures

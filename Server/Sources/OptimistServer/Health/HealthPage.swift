// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

struct HealthPage {
    let summary: HealthSummary

    /// - Parameter json: The URL of the same data as JSON.
    func html(json: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(title.inHTML)</title>
        <style>\(Self.style)</style>
        </head>
        <body>
        <header><h1>\(title.inHTML)</h1><p>Reports from devices in the last 90 days. <a href="\(json.inHTML)">JSON</a></p></header>
        <main>\(summary.versions.isEmpty ? "<p>No device has reported its health yet.</p>" : content)</main>
        </body>
        </html>
        """
    }

    private var title: String { summary.app.map { "Health of \($0)" } ?? "Health" }

    private var content: String {
        """
        <figure>\(HealthPlot(summary.versions).svg)</figure>
        <h2>Versions</h2>
        <ul>\(summary.versions.map(item).joined())</ul>
        <h2>Signatures</h2>
        <ul>\(summary.signatures.isEmpty ? "<li>None.</li>" : summary.signatures.map(item).joined())</ul>
        """
    }

    private func item(_ version: HealthSums.Version) -> String {
        """
        <li><h3>\(version.version.inHTML)</h3><dl>
        \(entry("Crash-free people", version.crashFreePeople.text, "95 %: \(version.crashFreePeople.intervalText)"))
        \(entry("Crash-free launches", version.crashFreeLaunches.text, "95 %: \(version.crashFreeLaunches.intervalText)"))
        \(entry("Crashes", "\(version.crashes)", ""))
        \(entry("Kills in the foreground", "\(version.kills)", ""))
        \(entry("Hangs", "\(version.hangs)", ""))
        \(entry("Abrupt ends with unsent rows", "\(version.unsentEnds)", ""))
        </dl></li>
        """
    }

    private func entry(_ name: String, _ value: String, _ more: String) -> String {
        "<div><dt>\(name)</dt><dd>\(value.inHTML)\(more.isEmpty ? "" : " <small>\(more.inHTML)</small>")</dd></div>"
    }

    private func item(_ signature: HealthSummary.Signature) -> String {
        let sums = signature.sums
        let frames = signature.signature.frames.map { "<li>\(HealthSummary.place($0).inHTML)</li>" }.joined()
        let days = "\(HealthSummary.text(day: sums.firstDay)) to \(HealthSummary.text(day: sums.lastDay))"
        return """
            <li><h3>\(HealthSummary.title(signature.signature).inHTML)</h3>
            <p>\(HealthSummary.count(sums.people, "person", "people")), \
            \(HealthSummary.count(sums.count, "time", "times")), <strong>\(sums.unsent) with unsent rows</strong>, in \
            \(sums.versions.joined(separator: ", ").inHTML), \(days) <small>\(signature.id.inHTML)</small></p><ol>\(frames)</ol></li>
            """
    }

    private static let style = """
        :root { color-scheme: light dark; --page: light-dark(#f3f1ec, #151716); --card: light-dark(#fffdf9, #1e2120);
          --ink: light-dark(#20241f, #e9ebe6); --faint: light-dark(#5f665f, #a0a9a1); --line: light-dark(#dfdbd0, #363b38);
          --accent: light-dark(#22664f, #7fd0b2); font: 15px/1.45 system-ui, sans-serif; background: var(--page);
          color: var(--ink) }
        * { box-sizing: border-box } body { margin: 0 auto; max-width: 760px; padding: 1.2rem }
        h1 { font-size: 1.25rem; margin: 0 } h2 { font-size: 1.05rem; margin: 1.4rem 0 .5rem }
        h3 { font-size: .95rem; margin: 0; overflow-wrap: anywhere } p { margin: .2rem 0; color: var(--faint) }
        strong { color: var(--ink); font-weight: 600 } a { color: var(--accent) }
        figure, ul > li { margin: 0 0 .6rem; padding: .8rem 1rem; background: var(--card); border: 1px solid var(--line);
          border-radius: 14px } figure { margin-top: 1rem } svg { display: block; width: 100%; max-width: 560px }
        ul { list-style: none; margin: 0; padding: 0 } ol { margin: .4rem 0 0; padding-left: 1.4rem; font-size: .86rem;
          overflow-wrap: anywhere } ol:empty { display: none }
        dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: .4rem 1rem; margin: .4rem 0 0 }
        dt, small { color: var(--faint); font-size: .86rem } dd { margin: 0 }
        text { font: 13px system-ui, sans-serif; fill: var(--ink) } .tick { font-size: 11px; fill: var(--faint) }
        .grid { stroke: var(--line) } .reach { stroke: var(--accent); stroke-width: 3; stroke-linecap: round; opacity: .55 }
        .dot { fill: var(--accent) }
        """
}

"""Before spending anything: what would each method give, for this data set and budget? And how many records would do?

Only public numbers go in. From last year's public data we know that a typical setting has an error about 0.08 above the
best one's: that is the spread.
"""

import tacit


def main() -> None:
    budget = tacit.Budget.approximate(epsilon=1.0, delta=1e-6)
    plan = tacit.plan(records=2000, trials=40, dimensions=3, budget=budget, spread=0.08, want=0.01)
    print(plan)

    # The same as data.
    print()
    for row in plan.previews:
        if row.measured and not row.unavailable:
            print(f"{row.method:10} {row.guarantee.kind:13} expected loss {row.measured['one valley'].mean:.4f}")
    needed = plan.needed["observed"]["one valley"]
    print(f"private observations lose 0.01 with {needed.records} records, or here with {needed.budget}")

    with open("plan.svg", "w", encoding="utf-8") as file:
        file.write(plan.picture())


if __name__ == "__main__":
    main()

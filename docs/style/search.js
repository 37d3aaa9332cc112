/* How search results are ranked: guides first, the pages of the code last. The other numbers are those of Sphinx. */
var Scorer = {
  score: ([page, , , , score]) => {
    if (page.startsWith("code/")) return score - 200;
    return ["reference", "mathematics", "benchmarks", "changes", "architecture"].includes(page) ? score - 20 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

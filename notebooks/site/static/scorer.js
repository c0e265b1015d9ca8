// Pages before members of classes: a word in a title says more than one in a name.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 2, objPrio: { 0: 5, 1: 0, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 9, term: 5, partialTerm: 2,
};

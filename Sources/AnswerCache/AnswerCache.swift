// AnswerCache

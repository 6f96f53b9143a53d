no program

#!/usr/bin/perl
use strict;
die "it dies here";

/* A library's name may end with a version that has no profile of its own: then the nearest one before it
 * stands for it, as versions between two profiles keep the rules of the earlier. */
#ifndef IO_VERSION_H
#define IO_VERSION_H

/* version_nearest — of known names, that of the same library with the highest version that is not above
 * the wanted one's ("nccl-2.21.5" finds nccl-2.21), or the library's profile without a version
 * ("open-mpi-4" finds open-mpi); NULL when there is neither, or the name has no version. */
const char *version_nearest(const char *name, const char *const *known, int n_known);

#endif
